"""The link between a lead and the brokers of a burst is cut, and stays so: nothing runs on both sides."""

from __future__ import annotations

import signal
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pytest

from minicluster.instance.records import JobFilter
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory, script_pods
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live

pytestmark = pytest.mark.timeout(600)

FENCE, LOST_AFTER = 5, 20
FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 1}]},
}
BURSTING = {
    "dryRun": False,
    "expose": "nodePort",
    "idleSeconds": 3,
    "verifySeconds": 3,
    "fenceSeconds": FENCE,
    "lostAfterSeconds": LOST_AFTER,
}
JOB = """
until test -e /ledger/released; do echo "$(hostname) $(date +%s.%N)" >>/ledger/alive; sleep 0.2; done
echo "$(hostname)" >>/ledger/done
"""
"""What each task does: it says where it is, again and again, until it may end."""


class Span(NamedTuple):
    """When the tasks on one host were alive, in seconds since 1970."""

    first: float
    last: float


@dataclass(frozen=True, slots=True)
class TaskLedger:
    """What tasks have written, outside of both clusters."""

    folder: Path

    def alive(self) -> dict[str, Span]:
        """Return when tasks were alive, by their host."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        file = self.folder / "alive"
        for line in file.read_text().splitlines() if file.exists() else ():
            host, when = line.split()
            found[host].append(float(when))
        return {host: Span(min(times), max(times)) for host, times in found.items()}

    def done(self) -> list[str]:
        """Return the hosts on which tasks came to their end."""
        file = self.folder / "done"
        return file.read_text().split() if file.exists() else []


@pytest.fixture
def ledger(tmp_path: Path) -> TaskLedger:
    """An empty one."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    folder.chmod(0o777)
    return TaskLedger(folder)


@pytest.fixture
def served(
    live: Live, nodes: ControlPlane, reached: None, remote: ControlPlane, ledger: TaskLedger, tmp_path: Path
) -> Iterator[Served]:
    """A MiniCluster of one broker, and a service that has two more in the other cluster."""
    volume = {"hostPath": str(ledger.folder), "path": "/ledger"}
    container = {"resources": {"limits": {"cpu": "1"}}, "volumes": {"ledger": volume}}
    live.create(container=container, size=1, flux=FLUX, bursting=BURSTING).joined(1)
    with script_pods.space(remote.api) as namespace:
        user = member(nodes, live.namespace, "edit")
        # A provider whose burst was lost rests for a minute.
        names = ("research", "reserve")
        yield from burst_services.of(user, remote, namespace, tmp_path, names, volumes={"ledger": volume})


def test_a_job_behind_a_link_that_is_silent_for_good_begins_anew_when_it_has_ended_there(
    served: Served, ledger: TaskLedger, live: Live, nodes: ControlPlane, remote: ControlPlane
) -> None:
    before = inventory.of(remote.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    served.start()
    job = served.submit("--burstable", "-N", 2, "-n", 2, "-t", "10m", script=JOB)
    until(lambda: len(ledger.alive()) == 2, "the job's tasks to run", SECONDS)
    first = set(ledger.alive())

    nodes.part(remote)
    here = served.submit("-n", 1)
    until(lambda: instance.ask(lambda it: it.jobs.get(here)).t_inactive, "an ordinary job", SECONDS)
    assert instance.ask(lambda it: it.jobs.get(here)).returncode == 0
    until(lambda: served.bursts()[0]["state"] == "deleted", "the burst to be deleted", SECONDS)
    # The next burst may have been asked for by now.
    assert [each for each in inventory.of(remote.api) if f"mcb-{served.bursts()[0]['burst']}" in each] == []
    nodes.reach(remote)

    until(lambda: len(ledger.alive()) == 4, "the job to run in a second burst", SECONDS)
    (ledger.folder / "released").touch()
    until(lambda: len(ledger.done()) == 2, "the job to end", SECONDS)
    until(lambda: all(each["state"] == "deleted" for each in served.bursts()), "both to go", SECONDS)
    spans = ledger.alive()
    assert max(spans[host].last for host in first) < min(
        span.first for host, span in spans.items() if host not in first
    )
    assert set(ledger.done()) == spans.keys() - first
    every = instance.ask(lambda it: it.jobs.find(JobFilter(), limit=0))
    ended = {each.id: each for each in every if "probe" not in each.name and each.id != here}
    assert sorted(each.returncode == 0 for each in ended.values()) == [False, True]
    assert job in ended
    assert inventory.of(remote.api) - before == set()
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
