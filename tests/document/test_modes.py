"""What a document means: who runs Flux, how the command runs, how many brokers."""

import json
from fractions import Fraction

import pytest

from broker_config.settings import BurstCluster
from minicluster import document as spec
from minicluster.document import MiniCluster, RunMode, Volume, quantity, validate


def cluster(*, status: dict[str, object] | None = None, **content: object) -> MiniCluster:
    """Return a valid MiniCluster with this spec."""
    document = {
        "apiVersion": spec.API_VERSION,
        "kind": spec.KIND,
        "metadata": {"name": "m"},
        "spec": {"containers": [{"command": "hostname"}], **content},
        "status": status or {},
    }
    return validate(json.loads(json.dumps(document)))


MODES = {
    "plain": ({"command": "a"}, False, RunMode.PLAIN),
    "launcher": ({"command": "a", "launcher": True}, False, RunMode.LAUNCHER),
    "batch": ({"command": "a", "batch": True}, False, RunMode.BATCH),
    "no command": ({"batch": True}, False, RunMode.INTERACTIVE),
    "blank command": ({"command": " \n"}, False, RunMode.INTERACTIVE),
    "script": ({"commands": {"script": "a"}}, False, RunMode.PLAIN),
    "interactive": ({"command": "a"}, True, RunMode.INTERACTIVE),
}


@pytest.mark.parametrize(("container", "interactive", "mode"), MODES.values(), ids=MODES)
def test_the_run_mode_follows_from_the_runner(
    container: dict[str, object], interactive: bool, mode: RunMode
) -> None:
    """An empty command means interactive."""
    assert spec.run_mode(cluster(containers=[container], interactive=interactive).spec) is mode


def test_the_runner_is_the_container_that_asks_for_it() -> None:
    """The others are its sidecars."""
    wanted = cluster(containers=[{"name": "a"}, {"runFlux": True, "image": "x"}, {"name": "c"}]).spec
    assert spec.runner(wanted).image == "x"
    assert [container.name for container in spec.sidecars(wanted)] == ["a", "c"]
    assert [spec.container_name(wanted, index) for index in range(3)] == ["a", "flux", "c"]


SIZES = {
    "size": ({"size": 3}, {}, (3, 1, 3)),
    "growing": ({"size": 3, "maxSize": 8, "minSize": 2}, {}, (8, 2, 2)),
    "started larger": ({"size": 3}, {"maximumSize": 6}, (6, 1, 3)),
    "suspended": ({"size": 0, "suspend": True}, {}, (1, 1, 1)),
}


@pytest.mark.parametrize(("content", "status", "sizes"), SIZES.values(), ids=SIZES)
def test_sizes_follow_from_each_other(
    content: dict[str, object], status: dict[str, object], sizes: tuple[int, int, int]
) -> None:
    """Hosts told to Flux, floor of scaling, quorum."""
    wanted = cluster(status=status, **content)
    assert (spec.max_size(wanted), spec.min_size(wanted.spec), spec.quorum(wanted.spec)) == sizes


def test_the_headless_service_has_the_clusters_name() -> None:
    """Unless it has one of its own."""
    own = cluster(network={"headlessName": "brokers"})
    assert (spec.headless_name(cluster()), spec.headless_name(own)) == ("m", "brokers")


def test_remote_clusters_have_names_and_sizes() -> None:
    """Absent: their index, and as many hosts as here."""
    wanted = cluster(size=3, flux={"bursting": {"clusters": [{}, {"name": "far", "size": 7}]}})
    assert spec.bursted_clusters(wanted) == (BurstCluster("burst-0", 3), BurstCluster("far", 7))


def test_remote_clusters_may_have_other_nodes() -> None:
    """Absent: as here."""
    wanted = cluster(flux={"bursting": {"clusters": [{"size": 1, "cores": 64}, {"size": 1, "gpus": 0}]}})
    assert spec.bursted_clusters(wanted) == (
        BurstCluster("burst-0", 1, cores=64),
        BurstCluster("burst-1", 1, gpus=0),
    )


NAMES = {
    "reserved": (["default", "local", "burst"], ["burst-0", "burst-1", "burst-2"]),
    "doubled": (["far", "far"], ["far", "burst-1"]),
    "what another one falls back to": (["burst-1", ""], ["burst-1", "burst-2"]),
    "behind one without a name": (["", "burst-0"], ["burst-0", "burst-1"]),
}


@pytest.mark.parametrize(("given", "expected"), NAMES.values(), ids=NAMES)
def test_remote_clusters_have_names_of_their_own(given: list[str], expected: list[str]) -> None:
    """They name queues and properties as well."""
    wanted = cluster(flux={"bursting": {"clusters": [{"name": name} for name in given]}})
    assert [each.name for each in spec.bursted_clusters(wanted)] == expected


def test_a_resize_leaves_remote_clusters_as_they_were() -> None:
    """The host list is read only at start."""
    resized = cluster(size=2, flux={"bursting": {"clusters": [{}]}}, status={"maximumSize": 3})
    assert spec.bursted_clusters(resized) == (BurstCluster("burst-0", 3),)


def test_a_lead_broker_elsewhere_means_bursting() -> None:
    """Without it this MiniCluster has its own lead."""
    lead = {"address": "10.0.0.1", "name": "lead", "size": 2}
    assert spec.bursts_out(cluster(flux={"bursting": {"leadBroker": lead}}).spec)
    assert not spec.bursts_out(cluster().spec)


def test_a_volume_without_path_has_a_directory_of_its_name() -> None:
    """Only where no path is needed."""
    assert spec.mount_path("keys", Volume(secret_name="k")) == "/mnt/keys"
    assert spec.mount_path("keys", Volume(secret_name="k", path="/keys")) == "/keys"


EMPTY = {
    "asked for": (Volume(empty_dir=True), True),
    "path only": (Volume(path="/a"), True),
    "a claim": (Volume(path="/a", claim_name="c"), False),
}


@pytest.mark.parametrize(("volume", "empty"), EMPTY.values(), ids=EMPTY)
def test_a_volume_without_source_is_an_empty_directory(volume: Volume, empty: bool) -> None:
    """As the reference's own batch example expects."""
    assert spec.is_empty_dir(volume) is empty


QUANTITIES = {
    "2": Fraction(2),
    "500m": Fraction(1, 2),
    "1.5": Fraction(3, 2),
    ".5": Fraction(1, 2),
    "5.": Fraction(5),
    "1Ki": Fraction(1024),
    "2Gi": Fraction(2 * 1024**3),
    "3k": Fraction(3000),
    "1e3": Fraction(1000),
    "1E-2": Fraction(1, 100),
    "1E": Fraction(10**18),
    "-1u": Fraction(-1, 10**6),
    "7n": Fraction(7, 10**9),
}


@pytest.mark.parametrize(("text", "number"), QUANTITIES.items(), ids=QUANTITIES)
def test_a_quantity_is_an_exact_number(text: str, number: Fraction) -> None:
    """Kubernetes' suffixes, binary and decimal."""
    assert quantity(text) == number


def test_what_is_no_quantity_is_refused() -> None:
    """With the text."""
    with pytest.raises(ValueError, match="'4 GB' is not a Kubernetes quantity"):
        quantity("4 GB")
