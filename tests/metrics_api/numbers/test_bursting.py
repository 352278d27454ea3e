"""What bursts bring is counted apart: an autoscaler sees the MiniCluster's own nodes, and jobs for these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from metrics_api import names
from metrics_api.numbers.bursting import divided
from metrics_api.numbers.demand import demand
from metrics_api.numbers.records import Counts, NodeState, SlotRequest, Snapshot
from metrics_api.numbers.samples import samples
from tests.metrics_api.numbers.worlds import change, run, snapshots, wait

if TYPE_CHECKING:
    from collections.abc import Iterable

NOW = 100.0
TWO_NODES = SlotRequest(2, 1, 4, exclusive=True)
TWO_IN_SLOT = TWO_NODES._replace(constraint=("properties", "burst-0"))
WIDE = SlotRequest(3, 1, 4, exclusive=True)


def node(rank: int, host: str, *properties: str, up: bool = True) -> NodeState:
    return NodeState(rank, host, 4, properties=frozenset(properties), up=up)


def slots(local: int = 4, remote: int = 4) -> Snapshot:
    """Up to four nodes of its own, of which one is needed, and two slots of two hosts each."""
    own = [node(rank, f"mc-{rank}", "local", "big", up=rank == 0) for rank in range(local)]
    others = [
        node(local + each, f"burst-{each // 2}-{each % 2}", "burst", f"burst-{each // 2}", "big")
        for each in range(remote)
    ]
    return Snapshot((*own, *others), 1, local + remote)


def plain() -> Snapshot:
    """The same MiniCluster without slots."""
    return Snapshot(tuple(node(rank, f"mc-{rank}", up=rank == 0) for rank in range(4)), 1, 4)


def backlog(snapshot: Snapshot) -> Snapshot:
    """The same with a job on the own node, and three nodes waited for."""
    made = run(snapshot, (0, 4), queue="default")
    return wait(made, SlotRequest(1, 1, 4, exclusive=True), 3, queue="default")


def of_bursts(snapshot: Snapshot) -> Snapshot:
    """The same with a job on all four burst hosts, one that waits for a slot, one in the waiting room."""
    made = run(snapshot, (4, 4), (5, 4), queue="burst-0")
    made = run(made, (6, 4), (7, 4), queue="burst-1")
    made = wait(made, TWO_IN_SLOT, queue="burst-0", since=20.0, core_seconds=99.0)
    made = wait(made, WIDE, queue="burst", since=5.0, core_seconds=99.0)
    queues = {"default": {"sched": 3, "run": 1}, "burst": {"sched": 1}, "burst-0": {"sched": 1, "run": 1}}
    total = {"sched": 5, "run": 3, "inactive": 2}
    return replace(made, counts=Counts(total, {**queues, "burst-1": {"run": 1, "inactive": 2}}))


def values(snapshot: Snapshot) -> dict[str, float]:
    return {each.name: each.value for each in samples(snapshot, NOW) if not each.labels}


def value(name: str, snapshot: Snapshot, **labels: str) -> float:
    (found,) = [s.value for s in samples(snapshot, NOW) if s.name == name and s.labels == labels]
    return found


@pytest.mark.parametrize(
    ("snapshot", "wanted"),
    [
        (slots(), 1),
        (wait(slots(), TWO_IN_SLOT, queue="burst-0"), 1),
        (wait(slots(), TWO_NODES, queue="burst"), 1),
        (run(slots(), (4, 4), (5, 4), (6, 4), (7, 4), queue="burst-0"), 1),
        (run(run(slots(), (4, 4), (5, 4), queue="burst-0"), (0, 4), queue="default"), 1),
        (wait(slots(), TWO_NODES, queue="default"), 2),
        (backlog(of_bursts(slots())), 4),
    ],
    ids=[
        "idle",
        "one waits for a slot",
        "one waits for a burst",
        "one on all burst hosts",
        "and one on an own node",
        "one waits for own nodes",
        "a backlog beside bursts",
    ],
)
def test_demand(snapshot: Snapshot, wanted: int) -> None:
    assert value(names.NODES_DEMANDED, snapshot) == wanted
    assert value(names.NODES_DEMANDED_CEILING, snapshot) == wanted


def test_a_backlog_demands_the_same_beside_bursts() -> None:
    """Every number that an autoscaler could follow is as it is without slots."""
    without, beside = values(backlog(plain())), values(of_bursts(backlog(slots())))
    about_jobs = {names.JOBS_PENDING: 3, names.JOBS_RUNNING: 1}  # by the instance's own counts
    assert {name: beside[name] for name in without} == without | about_jobs


OTHERS = [
    (names.BURST_NODES_EXPECTED, 4),
    (names.BURST_NODES_UP, 3),
    (names.BURST_NODES_ALLOCATED, 4),
    (names.BURST_JOBS_PENDING, 2),
    (names.BURST_JOBS_RUNNING, 2),
]


@pytest.mark.parametrize(("name", "wanted"), OTHERS)
def test_the_others(name: str, wanted: int) -> None:
    assert value(name, change(of_bursts(slots()), 7, up=False)) == wanted


def test_every_metric_of_bursts_has_a_case() -> None:
    assert {name for name, _ in OTHERS} == names.OF_BURSTS


def test_a_queue_of_bursts_counts_its_jobs_and_demands_nothing() -> None:
    snapshot = of_bursts(slots())
    assert value(names.QUEUE_JOBS_PENDING, snapshot, queue="burst-0") == 1
    assert value(names.QUEUE_JOBS_RUNNING, snapshot, queue="burst-1") == 1
    assert value(names.QUEUE_OLDEST_WAIT, snapshot, queue="burst") == 95.0
    demanded = [s.value for s in samples(snapshot, NOW) if s.name == names.QUEUE_NODES_DEMANDED]
    assert demanded == [0, 0, 0, 0]


def test_jobs_by_state_are_those_of_other_queues() -> None:
    assert value(names.JOBS, of_bursts(slots()), state="sched") == 3
    assert value(names.JOBS, of_bursts(slots()), state="inactive") == 0


def test_a_group_has_the_nodes_that_are_the_minicluster_s_own() -> None:
    assert value(names.GROUP_NODES_ALLOCATED, backlog(of_bursts(slots())), group="root") == 1


def test_a_job_half_here_and_half_there_counts_here_by_what_it_has_here() -> None:
    """Real Flux makes none, as queues require their own ranks; a queue of the user's might."""
    snapshot = run(slots(), (0, 4), (4, 4), queue="mixed")
    assert value(names.NODES_ALLOCATED, snapshot) == 1
    assert value(names.BURST_NODES_ALLOCATED, snapshot) == 1


@pytest.mark.parametrize(
    "properties",
    [
        [("local",), ("local",), ("fast",), ("fast",)],
        [("local",), ("local",), (), ()],
        [("local",)] * 4,
        [("burst",)] * 4,
        [()] * 4,
    ],
    ids=["for some", "others have none", "for all", "burst for all", "none"],
)
def test_properties_that_are_somebody_s_own_change_nothing(properties: Iterable[tuple[str, ...]]) -> None:
    """A node's own disk may be called `local` too: without slots all ranks count."""
    made = Snapshot(tuple(node(rank, f"mc-{rank}", *each) for rank, each in enumerate(properties)), 1, 4)
    assert value(names.MAX_SIZE, made) == 4
    assert not names.OF_BURSTS & values(made).keys()


@given(snapshots())
def test_slots_change_nothing_for_the_rest(snapshot: Snapshot) -> None:
    """The same nodes and jobs, and four hosts more with jobs of their own: the demand stays what it is."""
    size = len(snapshot.nodes)
    own = tuple(each._replace(properties=each.properties | {"local"}) for each in snapshot.nodes)
    others = tuple(node(size + each, f"burst-0-{each}", "burst", "burst-0") for each in range(4))
    beside = replace(snapshot, nodes=(*own, *others), maximum=size + 4)
    beside = wait(run(beside, (size, 4), (size + 1, 4), queue="burst-0"), WIDE, 3, queue="burst-0")
    assert demand(divided(beside).local) == demand(snapshot)
