"""The link between a lead and the brokers of a burst is cut, and stays so: nothing runs on both sides."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.records import JobFilter
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live
    from tests.kubernetes.task_ledger import TaskLedger

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


@pytest.fixture
def served(
    live: Live,
    nodes: ControlPlane,
    reached: None,
    remote: ControlPlane,
    remote_space: str,
    tasks: TaskLedger,
    tmp_path: Path,
) -> Iterator[Served]:
    """A MiniCluster of one broker, and a service that has two more in the other cluster."""
    volumes = {"ledger": tasks.volume}
    container = {**burst_services.SMALL, "volumes": volumes}
    live.create(container=container, size=1, flux=FLUX, bursting=BURSTING).joined(1)
    user = member(nodes, live.namespace, "edit")
    # A provider whose burst was lost rests for a minute.
    names = ("research", "reserve")
    yield from burst_services.of(user, remote, remote_space, tmp_path, names, volumes=volumes)


def test_a_job_behind_a_link_that_is_silent_for_good_begins_anew_when_it_has_ended_there(
    served: Served, tasks: TaskLedger, live: Live, nodes: ControlPlane, remote: ControlPlane
) -> None:
    before = inventory.of(remote.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    served.start()
    job = served.submit("--burstable", "-N", 2, "-n", 2, "-t", "10m", script=tasks.script("two"))
    until(lambda: tasks.tasks("two") == 2, "the job's tasks to run", SECONDS)

    nodes.part(remote)
    here = served.submit("-n", 1)
    until(lambda: instance.ask(lambda it: it.jobs.get(here)).t_inactive, "an ordinary job", SECONDS)
    assert instance.ask(lambda it: it.jobs.get(here)).returncode == 0
    until(lambda: served.bursts()[0]["state"] == "deleted", "the burst to be deleted", SECONDS)
    # The next burst may have been asked for by now.
    assert [each for each in inventory.of(remote.api) if f"mcb-{served.bursts()[0]['burst']}" in each] == []
    nodes.reach(remote)

    until(lambda: (len(tasks.runs("two")), tasks.tasks("two")) == (2, 2), "a run in a second burst", SECONDS)
    tasks.release()
    until(lambda: tasks.ended("two").total() == 2, "the job to end", SECONDS)
    until(lambda: all(each["state"] == "deleted" for each in served.bursts()), "both to go", SECONDS)
    first, second = tasks.runs("two")
    assert (tasks.overlaps("two"), first.hosts & second.hosts, len(second.hosts)) == (False, set(), 2)
    assert tasks.ended("two") == {0: 1, 1: 1}
    every = instance.ask(lambda it: it.jobs.find(JobFilter(), limit=0))
    ended = {each.id: each for each in every if "probe" not in each.name and each.id != here}
    assert sorted(each.returncode == 0 for each in ended.values()) == [False, True]
    assert job in ended
    assert inventory.of(remote.api) - before == set()
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
