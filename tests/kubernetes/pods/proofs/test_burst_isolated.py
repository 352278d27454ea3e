"""Two clusters whose networks are apart: a job leaves one of them, and comes back from the other."""

from __future__ import annotations

import hashlib
import signal
import time
from typing import TYPE_CHECKING

import pytest
import yaml

from broker_config.formats.jobid import f58
from burst.elsewhere.instance_remote import InstanceRemote
from burst.elsewhere.jobspecs import label_of
from burst.errors import RetryLater
from burst.joining.records import JoinSettings
from burst.joining.workers import LABEL_BURST, LABEL_OWNER
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from burst.providers.provider import WantedBurst
from minicluster.document import MiniCluster
from minicluster.instance.records import JobFilter
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import exposed, labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job
    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live

pytestmark = pytest.mark.timeout(600)

BURSTING = {
    "join": False,
    "dryRun": False,
    "verifySeconds": 3,
    "drainTimeoutSeconds": 30,
    "select": {"afterSeconds": 0},
}
SMALL = {"limits": {"cpu": "1"}, "requests": {"cpu": "250m"}}
SIZE = 200_000
WRITES = f"""\
yes out | head -c {SIZE}
yes err | head -c {SIZE} >&2
yes results | head -c {SIZE} >out.dat
hostname >host
sleep 10
exit 7"""


@pytest.fixture
def served(
    live: Live, nodes: ControlPlane, remote: ControlPlane, remote_space: str, tmp_path: Path
) -> Iterator[Served]:
    """A MiniCluster of one broker without slots, and a service; nothing passes between the networks."""
    flux = {"container": {"disable": True}}
    live.create(container={"resources": SMALL}, size=1, flux=flux, bursting=BURSTING).joined(1)
    user = member(nodes, live.namespace, "edit")
    offers = [{"machine": "small", "cores": 1, "requests": {"cpu": "250m"}}]
    yield from burst_services.of(user, remote, remote_space, tmp_path, offers=offers)


def submissions(served: Served, live: Live, remote: ControlPlane, namespace: str) -> list[int]:
    """Return the jobs of the burst that its own instance knows, by a command in its lead's pod."""
    [anchor] = [
        each["metadata"]
        for each in remote.api.items(f"/api/v1/namespaces/{namespace}/configmaps")
        if each["metadata"]["name"] == f"mcb-{each['metadata'].get('labels', {}).get(LABEL_BURST)}"
    ]
    label, owner = (anchor["labels"][key] for key in (LABEL_BURST, LABEL_OWNER))
    [given] = yaml.safe_load((served.folder / "burst.yaml").read_text())["providers"]
    join = JoinSettings(MiniCluster.model_validate(live.item), "", "", 0, "")
    settings = KubernetesSettings.model_validate(given["settings"])
    provider = KubernetesProvider("research", settings, lambda _wanted: join)
    wanted = WantedBurst(label, owner, 1, "small", False, time.time() + 900, isolated=True)
    with provider.instance(wanted) as instance:
        assert InstanceRemote(instance, label).view(None).nodes == 1
        found = [job.id for job in instance.jobs.find(JobFilter(), limit=0)]
        users = instance.overview.attributes(found)
        return [job for job in found if label_of(users[job]) == label]


def stand_in(instance: Instance) -> Job:
    """Return the latest job of the name."""
    return max(instance.jobs.find(JobFilter(name="far"), limit=0), key=lambda job: job.id)


def read(instance: KeptInstance, id_: int, stream: str) -> bytes:
    """Return what a job has printed."""
    chunks = instance.ask(lambda connected: list(connected.jobs.output(id_)))
    return b"".join(each.data for each in chunks if each.stream == stream)


def test_a_job_leaves_and_comes_back_without_any_way_between_the_networks(
    served: Served, live: Live, nodes: ControlPlane, remote: ControlPlane, remote_space: str
) -> None:
    before = inventory.of(remote.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    busy = served.submit("-N", 1, "-x", "-t", "10m", script="until test -e /tmp/go; do sleep 0.2; done")
    options = ("-N", 1, "-x", "-t", "5m", "--burstable", "--job-name", "far", "--cwd", "/tmp")
    left = served.submit(*options, "--results", "out.dat", "--results", "host", script=WRITES)
    served.start()

    def submitted() -> list[int]:
        try:
            return submissions(served, live, remote, remote_space)
        except RetryLater:
            return []

    until(lambda: instance.ask(stand_in).id != left, "a stand-in", SECONDS)
    until(submitted, "the job elsewhere", SECONDS)
    assert len(submitted()) == 1
    ended = burst_services.job(instance, instance.ask(stand_in).id)
    assert ended.returncode == 7
    assert read(instance, ended.id, "stdout") == b"out\n" * (SIZE // 4)
    assert read(instance, ended.id, "stderr") == b"err\n" * (SIZE // 4)
    assert not exposed(nodes)

    served.submit("-n", 1, "-N", 0, script="true")  # the own node is busy: nothing of it has run here
    assert not instance.ask(lambda connected: connected.jobs.get(left)).t_run
    instance.ask(lambda connected: connected.jobs.cancel(busy))
    shown = served.submit("-N", 1, "-t", "1m", script="sha256sum </tmp/out.dat; cat /tmp/host")
    burst_services.job(instance, shown)
    digest, _, host = read(instance, shown, "stdout").decode().split()
    written = (b"results\n" * SIZE)[:SIZE]
    assert digest == hashlib.sha256(written).hexdigest()
    assert host.startswith("mcb-")

    until(lambda: {each["state"] for each in served.bursts()} == {"deleted"}, "the burst's end", SECONDS)
    assert [each["outcome"] for each in served.bursts()] == ["succeeded"]
    assert labelled(remote) == set()
    assert inventory.of(remote.api) - before == set()
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
    print(f"{live.image}: {f58(left)} ran once in pod {host}, {SIZE} bytes of each stream came back")
