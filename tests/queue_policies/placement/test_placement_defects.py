"""A placement that returns the impossible: the defect names it, the job and the state; the queue is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pytest

from queue_policies.decision import decide
from queue_policies.errors import PlacementDefect
from queue_policies.fcfs import Fcfs
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Misfit
from queue_policies.orders.resizing import Resizing
from queue_policies.queue import IndexedQueue
from queue_policies.records import QueuedJob, Start, State
from queue_policies.running import RunningJobs
from tests.queue_policies.placement.clusters import node, pool, request

if TYPE_CHECKING:
    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView


@dataclass(frozen=True)
class Scripted:
    """A placement that returns what a test says."""

    name: ClassVar[str] = "scripted"
    answer: object = None

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value] # it may be wrong


def _cluster(answer: object) -> Pool:
    """Two nodes of four cores; the second is down, and a job has core 3 of the first."""
    cluster = pool(Scripted(answer), [node(rank, (2, 2), 1) for rank in range(2)])
    cluster.mark(1, up=False)
    cluster.hold(9, {0: (0b1000, 0)})
    return cluster


WHERE = "for a job of 2 core(s), with 3 core(s) free on 1 rank(s) that it may use; it is job 7"


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        pytest.param({0: (0b1001, 0)}, "returns core 3 of rank 0, which is not free", id="not free"),
        pytest.param({1: (0b0011, 0)}, "returns rank 1, which this request may not use", id="a rank is down"),
        pytest.param({0: (0b0001, 0)}, "returns 1 slots where 2 are requested", id="too little"),
        pytest.param({0: (0b0111, 0)}, "returns 3 slots where 2 are requested", id="too much"),
        pytest.param({0: (0b0011, 1)}, "returns cores and GPUs of rank 0 that are no whole slots", id="GPU"),
        pytest.param([0], "returns [0], which is no allocation by rank", id="no allocation"),
    ],
)
def test_what_is_impossible_is_a_defect(answer: object, wrong: str) -> None:
    cluster = _cluster(answer)
    with pytest.raises(PlacementDefect) as error:
        cluster.alloc(7, request(2))
    assert str(error.value) == f"placement scripted {wrong}; {WHERE}"
    assert cluster.allocation(7) == {}


@pytest.mark.parametrize(
    ("asked", "answer", "wrong"),
    [
        pytest.param(
            request(1, nodes=1), {0: (0b11, 0)}, "returns nodes with [2] slots where each has 1", id="slots"
        ),
        pytest.param(request(1, nodes=1), {}, "returns 0 nodes where 1 are requested", id="nodes"),
        pytest.param(
            request(1, nodes=1)._replace(exclusive=True),
            {0: (0b111, 0)},
            "returns a part of rank 0 for a request for whole nodes",
            id="a part of a node",
        ),
    ],
)
def test_requests_for_nodes_are_checked(asked: object, answer: object, wrong: str) -> None:
    with pytest.raises(PlacementDefect, match=wrong.replace("[", r"\[").replace("]", r"\]")):
        _cluster(answer).alloc(7, asked)  # type: ignore[arg-type] # a request of nodes


def test_one_that_raises_is_a_defect_that_names_file_and_line() -> None:
    with pytest.raises(PlacementDefect) as error:
        _cluster(RuntimeError("no idea")).fits(request(2))
    assert str(error.value).startswith("placement scripted failed: RuntimeError: no idea (")
    assert "test_placement_defects.py" in str(error.value)


def _state(cluster: Pool) -> State:
    queue = IndexedQueue([QueuedJob(7, 16, request(2), 0.0)])
    return State(queue, RunningJobs(), cluster, [])


def test_a_policy_that_meets_it_is_not_to_blame() -> None:
    state = _state(_cluster({0: (0b1001, 0)}))
    with pytest.raises(PlacementDefect) as error:
        decide(Fcfs(), state, 5.0)
    assert str(error.value) == (
        f"placement scripted returns core 3 of rank 0, which is not free; {WHERE};"
        " at 5 with 1 queued (7 for 2), 0 running, 3 of 8 units free"
    )


def test_a_start_that_meets_it_leaves_the_job_queued() -> None:
    state = _state(_cluster({0: (0b1001, 0)}))
    queue, running = state.queue, state.running
    assert isinstance(queue, IndexedQueue)
    assert isinstance(running, RunningJobs)
    cluster = state.cluster
    resizing = Resizing(cluster, queue, running, lambda change: None)  # type: ignore[arg-type] # a pool
    deed = Actions(queue, running, resizing).apply(Start(7), 5.0)
    assert isinstance(deed, Misfit)
    assert deed.described("fcfs", "7").startswith("placement scripted returns core 3 of rank 0")
    assert (7 in queue, len(running)) == (True, 0)
