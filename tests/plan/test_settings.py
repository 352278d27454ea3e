"""From the document to what the brokers are told."""

from __future__ import annotations

import subprocess

import pytest

from broker_config import settings as to
from minicluster.plan import Site, broker_settings
from minicluster.plan.objects import flux_view


@pytest.mark.parametrize(
    ("resources", "cores", "gpus"),
    [
        pytest.param({}, 6, 0, id="what the site has"),
        pytest.param({"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}, 4, 0, id="limit"),
        pytest.param({"limits": {"cpu": 3}}, 3, 0, id="a number"),
        pytest.param({"requests": {"cpu": "2500m"}}, 2, 0, id="request, whole cores only"),
        pytest.param({"limits": {"cpu": "500m"}}, 1, 0, id="at least one"),
        pytest.param({"limits": {"memory": "4Gi"}}, 6, 0, id="memory says nothing about cores"),
        pytest.param({"limits": {"nvidia.com/gpu": "2"}}, 6, 2, id="nvidia"),
        pytest.param({"limits": {"amd.com/gpu": 1}}, 6, 1, id="amd"),
        pytest.param({"limits": {"gpu.intel.com/xe": 1, "gpu.intel.com/xe_monitoring": 1}}, 6, 1, id="intel"),
        pytest.param({"limits": {"nvidia.com/mig-1g.5gb": 3}}, 6, 3, id="slices"),
        pytest.param({"limits": {"example.org/gpu-memory": 3}}, 6, 0, id="no device"),
        pytest.param({"requests": {"nvidia.com/gpu": 2}}, 6, 0, id="GPUs come from limits"),
    ],
)
def test_cores_and_gpus_of_a_rank(make, resources, cores, gpus):
    """The runner's limit counts, else its request, else what the site has."""
    cluster = make({"containers": [{"image": "app", "command": "x", "resources": resources}]})
    node = broker_settings(cluster, Site(cores=6)).node
    assert (node.cores, node.gpus) == (cores, gpus)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param({"size": 4}, (4, 4, 4), id="size"),
        pytest.param({"size": 4, "minSize": 2}, (4, 4, 2), id="minSize is the quorum"),
        pytest.param({"size": 4, "maxSize": 9}, (4, 9, 4), id="maxSize is the list of hosts"),
        pytest.param({"size": 0, "suspend": True}, (1, 1, 1), id="suspended without a size"),
    ],
)
def test_sizes(make, sizes, expected):
    """How many brokers start, how many are known, how many are waited for."""
    settings = broker_settings(make(sizes), Site())
    assert (settings.size, settings.max_size, settings.quorum) == expected


def test_size_of_the_start(make):
    """After a shrink the list of hosts is that of the start; the quorum is what is left."""
    settings = broker_settings(make({"size": 2}, status={"maximumSize": 5}), Site())
    assert (settings.size, settings.max_size, settings.quorum) == (2, 5, 2)


def test_a_machine_without_dns(make):
    """A site's endpoints and directories reach the settings."""
    endpoints = (to.BrokerEndpoint("hpc-0", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"),)
    site = Site(endpoints=endpoints, config_dir="/c/etc", curve_path="/c/curve.cert")
    settings = broker_settings(make(), site)
    assert (settings.network.endpoints, settings.config_dir, settings.curve_path) == (
        endpoints,
        "/c/etc",
        "/c/curve.cert",
    )


@pytest.mark.parametrize(
    ("container", "wanted", "expected"),
    [
        pytest.param({"command": "x"}, {}, to.RunMode.PLAIN, id="plain"),
        pytest.param({"command": "x", "launcher": True}, {}, to.RunMode.LAUNCHER, id="launcher"),
        pytest.param({"command": "x", "batch": True}, {}, to.RunMode.BATCH, id="batch"),
        pytest.param({}, {}, to.RunMode.INTERACTIVE, id="no command"),
        pytest.param({"command": "x"}, {"interactive": True}, to.RunMode.INTERACTIVE, id="interactive"),
        pytest.param({"commands": {"script": "x"}}, {}, to.RunMode.PLAIN, id="script"),
    ],
)
def test_run_mode(make, container, wanted, expected):
    """How the command runs is what the document means, in the words of the start script."""
    cluster = make({"containers": [{"image": "app", **container}], **wanted})
    assert broker_settings(cluster, Site()).run_mode is expected


@pytest.mark.parametrize(
    ("flux", "socket"),
    [
        pytest.param({}, "local", id="socket"),
        pytest.param({"disableSocket": True}, "flux/local-0", id="flux's own socket"),
    ],
)
def test_copied_view_has_the_script_that_documents_source(make, tmp_path, flux, socket):
    """`. /mnt/flux/flux-view.sh` puts Flux on PATH and names the broker's socket."""
    (copier,) = flux_view.init_containers(make({"flux": flux}), Site())
    path = tmp_path / "flux-view.sh"
    path.write_text(copier["command"][-1])
    line = f'PATH=/bin JOB_COMPLETION_INDEX=0; . {path}; echo "$PATH $fluxsocket"'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    expected = f"/bin:/mnt/flux/view/bin:/mnt/flux/bin local:///run/minicluster/broker/{socket}\n"
    assert done.stdout == expected


def test_mounted_view_is_not_written_to(make):
    """An image volume is read-only, so nothing is there to write the script."""
    assert flux_view.init_containers(make(), Site(image_volumes=True)) == []
