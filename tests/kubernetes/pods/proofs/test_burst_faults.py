"""What comes between a lead and the brokers of a burst, for how long, and what becomes of jobs then."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import JobFilter
from minicluster.local import processes
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import exposed, labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.test_burst_tunnel import reaches
from tests.kubernetes.pods.test_network_faults import sustained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from minicluster.instance.records import Job
    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live
    from tests.kubernetes.task_ledger import TaskLedger

pytestmark = pytest.mark.timeout(900)

FENCE = 30
"""Seconds: the document's default, as is that a burst is lost after 60."""
FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 1}]},
}
BURSTING = {"dryRun": False, "idleSeconds": 3, "verifySeconds": 3, "drainTimeoutSeconds": 60}
RESOURCES = {"limits": {"cpu": "2"}, "requests": {"cpu": "250m"}}
NAMES = ("research", "reserve")
"""Of providers: one whose burst was lost rests for a minute."""
BURST, LOCAL = "burst", "local"
MAX_LINES = 100
"""Of the lead's log in the end; without a fault it has some 15. One a second of a fault would be more."""


@dataclass(frozen=True)
class FaultedBurst:
    """A job of one task here, and one of two tasks in a burst, which run until they are released."""

    served: Served
    tasks: TaskLedger
    live: Live
    nodes: ControlPlane
    remote: ControlPlane
    instance: KeptInstance
    before: set[str]
    """What there was in the other cluster."""

    def begin(self) -> None:
        """Have both jobs run."""
        self.served.start()
        self.served.submit("-n", 1, "-t", "1h", "--job-name", LOCAL, script=self.tasks.script(LOCAL))
        words = ("--burstable", "-N", 2, "-n", 2, "-t", "20m", "--job-name", BURST)
        self.served.submit(*words, script=self.tasks.script(BURST))
        self.running(2)
        until(lambda: self.tasks.tasks(LOCAL) == 1, "the local job to run", SECONDS)

    def running(self, count: int) -> None:
        """Wait until both tasks of the burst's job run."""
        until(lambda: self.tasks.tasks(BURST) == count, "the job of the burst to run", SECONDS)

    def local_job_ends(self) -> None:
        """Run another job here to its end."""
        done = burst_services.job(self.instance, self.served.submit("-n", 1, script="true"))
        assert (done.returncode, done.ranks) == (0, "0")

    def goes_on(self, seconds: float) -> None:
        """Wait until all tasks have been alive that long from now."""
        when = time.time() + seconds
        until(lambda: self.tasks.seen_since(BURST, when) == 2, "the burst's tasks to go on", SECONDS)

    def begins_anew(self) -> None:
        """Wait until the job of the burst runs a second time."""
        first = self.tasks.runs(BURST)[0].job
        until(
            lambda: self.tasks.runs(BURST)[-1].job != first and self.tasks.tasks(BURST) == 2,
            "the job to begin anew",
            SECONDS,
        )

    def jobs(self, name: str) -> list[Job]:
        """Return the jobs of a name, the first one first."""
        every = self.instance.ask(lambda connected: connected.jobs.find(JobFilter(), limit=0))
        return sorted((each for each in every if each.name == name), key=lambda job: job.t_submit)

    def end(self, *, runs: int, outcomes: list[str]) -> None:
        """Let the jobs end, and check that each did so once, and that nothing is left."""
        self.tasks.release()
        tasks = {LOCAL: {0: 1}, BURST: {0: 1, 1: 1}}
        until(
            lambda: {name: dict(self.tasks.ended(name)) for name in tasks} == tasks, "tasks to end", SECONDS
        )
        until(
            lambda: {each["state"] for each in self.served.bursts()} == {"deleted"}, "bursts to go", SECONDS
        )
        until(lambda: not exposed(self.nodes), "the way to the lead to be closed", SECONDS)
        assert [len(self.tasks.runs(LOCAL)), len(self.tasks.runs(BURST))] == [1, runs]
        assert {name: dict(self.tasks.ended(name)) for name in tasks} == tasks
        assert not self.tasks.overlaps(BURST)
        assert [job.returncode for job in self.jobs(LOCAL)] == [0]
        assert [job.returncode == 0 for job in self.jobs(BURST)] == [False] * (runs - 1) + [True]
        assert [each["outcome"] for each in self.served.bursts()] == outcomes
        assert labelled(self.remote) == set()
        assert inventory.of(self.remote.api) - self.before == set()
        assert reaches(self.served.folder) == set()
        assert self.served.end(signal.SIGTERM) == 0
        assert "Traceback" not in self.served.log()
        self._report()

    def _report(self) -> None:
        lines = self.live.pods.log(0).splitlines()
        runs = self.tasks.runs(BURST)
        gaps = [f"{later.first - first.last:.1f} s" for first, later in pairwise(runs)]
        print(
            f"{self.live.image}: {len(runs)} runs of the job, between them {gaps or 'nothing'};"
            f" {len(lines)} lines of the lead, {len(self.served.log().splitlines())} of the service"
        )
        assert len(lines) <= MAX_LINES, lines


@pytest.fixture
def burst(
    request: pytest.FixtureRequest,
    live: Live,
    nodes: ControlPlane,
    remote: ControlPlane,
    remote_space: str,
    tasks: TaskLedger,
    tmp_path: Path,
) -> Iterator[FaultedBurst]:
    """A MiniCluster of one broker with two cores, and a service; by default brokers need a route to it."""
    expose = getattr(request, "param", "nodePort")
    before = inventory.of(remote.api)
    container = {"resources": RESOURCES, "volumes": {"ledger": tasks.volume}}
    bursting = {**BURSTING, "expose": expose}
    live.create(container=container, size=1, flux=FLUX, bursting=bursting).joined(1)
    user = member(nodes, live.namespace, "edit")
    more: dict[str, Any] = {"volumes": {"ledger": tasks.volume}}
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    for served in burst_services.of(user, remote, remote_space, tmp_path, NAMES, **more):
        with routed(nodes, remote) if expose == "nodePort" else contextlib.nullcontext():
            made = FaultedBurst(served, tasks, live, nodes, remote, instance, before)
            made.begin()
            yield made
            for pid in reaches(tmp_path):
                processes.send(pid, signal.SIGKILL)


@contextlib.contextmanager
def routed(nodes: ControlPlane, remote: ControlPlane) -> Iterator[None]:
    """Have the networks of two clusters route to each other."""
    nodes.reach(remote)
    try:
        yield
    finally:
        nodes.part(remote)


@contextlib.contextmanager
def silent(burst: FaultedBurst) -> Iterator[None]:
    """Have packets between the two clusters lost without a word."""
    burst.nodes.part(burst.remote)
    try:
        yield
    finally:
        burst.nodes.reach(burst.remote)


@contextlib.contextmanager
def without_api_server(plane: ControlPlane) -> Iterator[None]:
    """Have a cluster without its API server; nodes and pods go on."""
    plane.apiserver.stop()
    try:
        yield
    finally:
        plane.apiserver.start()


def during(burst: FaultedBurst, fault: AbstractContextManager[None], seconds: float) -> None:
    """Run a local job while a fault lasts."""
    with fault, sustained(seconds):
        burst.local_job_ends()


def test_packets_that_are_lost_for_10_s_harm_no_job(burst: FaultedBurst) -> None:
    """Neither the fence nor the loss is reached: the job goes on where it is, and begins no second time."""
    during(burst, silent(burst), 10)
    burst.goes_on(FENCE + 10)
    burst.end(runs=1, outcomes=["succeeded"])


def test_packets_that_are_lost_for_45_s_have_the_job_begin_anew_once(burst: FaultedBurst) -> None:
    """The fence has ended its tasks over there; the burst's brokers join again, and end as the burst does."""
    cut = time.time()
    during(burst, silent(burst), 45)
    [first] = burst.tasks.runs(BURST)
    assert first.last < cut + 45
    burst.begins_anew()
    burst.end(runs=2, outcomes=["succeeded", "succeeded"])


def test_packets_that_are_lost_for_good_have_the_job_begin_anew_once(burst: FaultedBurst) -> None:
    """The burst is given up and deleted while nothing passes."""
    with silent(burst):
        burst.local_job_ends()
        until(lambda: burst.served.bursts()[0]["state"] == "deleted", "the burst to be deleted", SECONDS)
        assert len(burst.tasks.runs(BURST)) == 1
    burst.begins_anew()
    burst.end(runs=2, outcomes=["failed", "succeeded"])


def test_an_api_server_that_is_away_harms_no_job(burst: FaultedBurst) -> None:
    """That of the burst's own cluster: brokers reach their lead without it."""
    during(burst, without_api_server(burst.remote), 20)
    burst.goes_on(FENCE)
    burst.end(runs=1, outcomes=["succeeded"])


@pytest.mark.parametrize("burst", ["tunnel"], indirect=True)
def test_a_tunnel_whose_api_server_is_away_has_the_job_begin_anew_once(burst: FaultedBurst) -> None:
    """What passes through a tunnel passes through that API server."""
    during(burst, without_api_server(burst.remote), 5)
    burst.begins_anew()
    burst.end(runs=2, outcomes=["succeeded", "succeeded"])


@pytest.mark.parametrize("burst", ["tunnel"], indirect=True)
def test_a_tunnel_that_is_killed_here_has_the_job_begin_anew_once(burst: FaultedBurst) -> None:
    """The service has another one in its place, and the brokers join again."""
    [reach] = reaches(burst.served.folder)
    processes.send(reach, signal.SIGKILL)
    burst.local_job_ends()
    burst.begins_anew()
    burst.end(runs=2, outcomes=["succeeded", "succeeded"])


@pytest.mark.parametrize("burst", ["tunnel"], indirect=True)
def test_a_relay_that_is_killed_there_has_the_job_begin_anew_once(burst: FaultedBurst) -> None:
    """The kubelet starts it again, and the brokers join again."""
    pods = [pod for node in burst.remote.nodes for pod in node.pods()]
    [relay] = [pod for pod in pods if pod.name == "relay"]
    os.kill(relay.pid, signal.SIGKILL)
    burst.local_job_ends()
    burst.begins_anew()
    burst.end(runs=2, outcomes=["succeeded", "succeeded"])
