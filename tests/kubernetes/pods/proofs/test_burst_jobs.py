"""Two clusters, once from jobs to nothing: who runs where, how often, who waits how long, what is left."""

from __future__ import annotations

import ipaddress
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.records import JobFilter
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import exposed, labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.test_burst_tunnel import reaches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.instance.records import Job
    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live
    from tests.kubernetes.task_ledger import TaskLedger

pytestmark = pytest.mark.timeout(900)

FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 3, "cores": 1}]},
}
BURSTING = {
    "dryRun": False,
    "idleSeconds": 3,
    "verifySeconds": 3,
    "drainTimeoutSeconds": 60,
    "select": {"afterSeconds": 0},
}
SMALL = {"limits": {"cpu": "1"}, "requests": {"cpu": "250m"}}
BUSY = {"busy1": 1, "busy2": 1}
BUSY_SECONDS = 60.0
"""How long the own nodes are busy: a burst is there before, also on a machine that does other things."""
BURSTABLE = {"b1": 1, "b2": 2, "b3": 1, "b4": 3}
"""Nodes by name; the last one never fits on two."""
ORDINARY = {"o1": 1, "o2": 2}


@pytest.fixture(params=["nodePort", "tunnel"])
def expose(request: pytest.FixtureRequest) -> str:
    """How brokers reach the lead."""
    return str(request.param)


@pytest.fixture
def served(
    expose: str,
    live: Live,
    nodes: ControlPlane,
    remote: ControlPlane,
    remote_space: str,
    tasks: TaskLedger,
    tmp_path: Path,
) -> Iterator[Served]:
    """A MiniCluster of two brokers; by a tunnel, nothing passes between the networks of the clusters."""
    container = {"resources": SMALL, "volumes": {"ledger": tasks.volume}}
    bursting = {**BURSTING, "expose": expose}
    live.create(container=container, size=2, flux=FLUX, bursting=bursting).joined(2)
    user = member(nodes, live.namespace, "edit")
    if expose == "nodePort":
        nodes.reach(remote)
    offers = [{"machine": "small", "cores": 1, "requests": {"cpu": "250m"}}]
    more: dict[str, Any] = {"volumes": {"ledger": tasks.volume}, "offers": offers}
    yield from burst_services.of(user, remote, remote_space, tmp_path, **more)
    nodes.part(remote)


@dataclass(frozen=True)
class BurstingPair:
    """Two clusters, a service that is not begun yet, and the jobs of a MiniCluster."""

    served: Served
    tasks: TaskLedger
    instance: KeptInstance
    remote: ControlPlane

    def submitted(self, names: dict[str, int], mark: str = "", *words: str) -> list[int]:
        """Submit jobs that write to the ledger under their names; return their ids."""
        return [
            self.served.submit(
                *("-N", count, "-n", count, "-x", "-t", "5m", *words),
                script=self.tasks.brief(mark + name, BUSY_SECONDS if name in BUSY else 2),
            )
            for name, count in names.items()
        ]

    def ended(self, ids: list[int]) -> list[Job]:
        """Wait for the end of jobs, and return them."""
        return [burst_services.job(self.instance, each) for each in ids]

    def run(self, ids: list[int]) -> bool:
        """Return whether all of these jobs have begun to run."""
        found = self.instance.ask(lambda it: [it.jobs.get(each) for each in ids])
        return all(each.t_run for each in found)

    def waits(self, ids: list[int], busy: list[int]) -> list[float]:
        """Wait for the end of jobs; return when they began, in seconds since the own nodes were busy."""
        since = min(each.t_run for each in self.ended(busy))
        return [each.t_run - since for each in self.ended(ids)]

    def addresses(self, namespace: str) -> dict[str, str]:
        """Return the addresses of the brokers in the other cluster, by what their hosts are called."""
        found = self.remote.api.items(f"/api/v1/namespaces/{namespace}/pods")
        return {
            each["spec"]["hostname"]: each["status"]["podIP"] for each in found if "hostname" in each["spec"]
        }


@pytest.fixture
def pair(
    served: Served, tasks: TaskLedger, live: Live, nodes: ControlPlane, remote: ControlPlane
) -> BurstingPair:
    """All of it."""
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    return BurstingPair(served, tasks, instance, remote)


def test_jobs_of_a_burst_run_there_once_and_ordinary_ones_here_as_early_as_without_it(
    pair: BurstingPair, live: Live, nodes: ControlPlane, remote_space: str, expose: str
) -> None:
    before = inventory.of(pair.remote.api)
    alone = pair.submitted(BUSY, "alone-")
    alone_others = pair.submitted(ORDINARY, "alone-")
    without = pair.waits(alone_others, alone)
    busy = pair.submitted(BUSY)
    until(lambda: pair.run(busy), "the own nodes to be busy", SECONDS)
    bursting = pair.submitted(BURSTABLE, "", "--burstable")
    ordinary = pair.submitted(ORDINARY)
    pair.served.start()
    until(lambda: pair.tasks.runs("b1"), "jobs of the burst to run", SECONDS)
    addresses = pair.addresses(remote_space)
    having = pair.waits(ordinary, busy)
    jobs, rest = pair.ended(bursting), pair.ended(busy)

    # Both times the same is in front of the ordinary jobs.
    assert max(each.t_inactive for each in jobs) < min(each.t_inactive for each in rest)
    assert all(one <= 1.1 * other for one, other in zip(having, without, strict=True)), (having, without)
    ids = [*bursting, *ordinary, *busy]
    assert [each.returncode for each in pair.ended(ids)] == [0] * len(ids)
    every = pair.instance.ask(lambda connected: connected.jobs.find(JobFilter(), limit=0))
    assert {each.id for each in every if "probe" not in each.name} == {*alone, *alone_others, *ids}
    check_hosts(pair, addresses)
    check_end(pair, nodes, before)
    shown = ", ".join(f"{one:.1f} s ({other:.1f} s)" for one, other in zip(having, without, strict=True))
    print(f"{live.image}, {expose}: ordinary jobs began after {shown}; in brackets without bursts")


def check_hosts(pair: BurstingPair, addresses: dict[str, str]) -> None:
    """Check that each task ended once: on a pod of the other cluster if it could burst, else here."""
    assert pair.remote.rack is not None
    network = ipaddress.ip_network(pair.remote.rack.network.pods)
    for name, count in (BURSTABLE | ORDINARY | BUSY).items():
        [run] = pair.tasks.runs(name)
        assert dict(pair.tasks.ended(name)) == dict.fromkeys(range(count), 1)
        assert len(run.hosts) == count
        if name in BURSTABLE:
            assert all(ipaddress.ip_address(addresses[host]) in network for host in run.hosts)
        else:
            assert run.hosts <= {"mc-0", "mc-1"}


def check_end(pair: BurstingPair, nodes: ControlPlane, before: set[str]) -> None:
    """Check that nothing is left of the bursts."""
    served, remote = pair.served, pair.remote
    until(lambda: {each["state"] for each in served.bursts()} == {"deleted"}, "the burst's end", SECONDS)
    until(lambda: not exposed(nodes), "the exposure to be taken back", SECONDS)
    assert {each["outcome"] for each in served.bursts()} == {"succeeded"}
    assert labelled(remote) == set()
    assert inventory.of(remote.api) - before == set()
    assert reaches(served.folder) == set()
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
