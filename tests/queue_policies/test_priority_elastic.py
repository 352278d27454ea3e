"""Priority-based elastic scheduling: small situations, computed by hand, and the two identities."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies.backfill import Backfill
from queue_policies.moldable import Moldable
from queue_policies.priority_elastic import PriorityElastic
from queue_policies.records import Change, Grow, Happened, Shrink, Start, WakeAt
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.workloads import charm

if TYPE_CHECKING:
    from queue_policies.simulator.workload import Workload

ENDED, WOKEN = (Change(Happened.ENDED, 99),), (Change(Happened.WOKEN),)


def arrived(number: int) -> tuple[Change, ...]:
    return (Change(Happened.ARRIVED, number),)


@pytest.mark.parametrize(
    ("waits", "runs", "expected"),
    [
        pytest.param((2, 8), [], [Start(5, 8)], id="up to its largest size"),
        pytest.param((2, 8), [(9, 12)], [Start(5, 4)], id="what is free"),
        pytest.param(
            (4, 8),
            [(9, 14, 4, 16)],
            [Shrink(9, 8), Start(5, 8, (9,))],
            id="a donor gives for the largest size",
        ),
        pytest.param(
            (4, 8), [(9, 14, 12, 16)], [Shrink(9, 12), Start(5, 4, (9,))], id="it gives what it can"
        ),
        pytest.param((4, 8), [(9, 14, 13, 16)], [], id="too little: nobody shrinks"),
        pytest.param((4, 8), [(2, 14, 4, 16)], [], id="what stands before it gives nothing"),
        pytest.param(
            (4, 4), [(8, 8, 4, 8), (9, 8, 4, 8)], [Shrink(9, 4), Start(5, 4, (9,))], id="the last gives first"
        ),
        pytest.param(
            (6, 6),
            [(8, 8, 4, 8), (9, 8, 4, 8)],
            [Shrink(9, 4), Shrink(8, 6), Start(5, 6, (9, 8))],
            id="then the one before it",
        ),
        pytest.param((4, 4), [(9, 16)], [], id="a rigid job gives nothing"),
        pytest.param((4, 4), [(9, 16, 4, 16, {"heeds": False})], [], id="nor one that does not heed"),
        pytest.param(
            (4, 4), [(9, 16, 4, 16, {"acted": -100.0})], [WakeAt(80.0)], id="a donor's gap is waited for"
        ),
        pytest.param(
            (4, 4),
            [(8, 8, 4, 8), (9, 8, 4, 8, {"acted": -100.0})],
            [Shrink(8, 4), Start(5, 4, (8,))],
            id="or another gives",
        ),
        pytest.param(
            (4, 4),
            [(9, 16, 4, 16, {"acted": -180.0})],
            [Shrink(9, 12), Start(5, 4, (9,))],
            id="at its end the gap is over",
        ),
    ],
)
def test_admits_what_arrives(kit: Any, waits: Any, runs: Any, expected: Any) -> None:
    state = kit.state(16, [kit.waits(5, *waits)], [_running(kit, *each) for each in runs], arrived(5))
    assert kit.answer(PriorityElastic(), state) == expected


def _running(kit: Any, *each: Any) -> Any:
    others = each[-1] if isinstance(each[-1], dict) else {}
    return kit.runs(*[part for part in each if not isinstance(part, dict)], **others)


def test_a_higher_priority_takes_from_an_earlier_job(kit: Any) -> None:
    state = kit.state(8, [kit.waits(5, 4, 4, priority=20)], [kit.runs(2, 8, 2, 8)], arrived(5))
    assert kit.answer(PriorityElastic(), state) == [Shrink(2, 4), Start(5, 4, (2,))]


def test_jobs_are_admitted_in_the_order_of_their_submission(kit: Any) -> None:
    queued = [kit.waits(1, 4), kit.waits(2, 4, priority=20)]
    state = kit.state(4, queued, (), arrived(1) + arrived(2))
    assert kit.answer(PriorityElastic(), state) == [Start(1)]


@pytest.mark.parametrize(
    ("waits", "runs", "expected"),
    [
        pytest.param([], [(1, 4, 2, 16)], [Grow(1, 16)], id="to its largest size"),
        pytest.param([(2, 2, 8)], [(1, 10, 2, 16)], [Grow(1, 16)], id="first in the order, first served"),
        pytest.param([(1, 2, 4)], [(2, 10, 2, 16)], [Start(1, 4), Grow(2, 12)], id="a queued job first"),
        pytest.param([(1, 8, 8)], [(2, 10, 2, 16)], [Grow(2, 16)], id="one that does not fit is passed over"),
        pytest.param(
            [(2, 2, 3), (3, 2, 3)],
            [(1, 11, 2, 12)],
            [Start(2, 3), Grow(1, 12)],
            id="what one leaves, others get",
        ),
        pytest.param(
            [(2, 2, 3), (3, 2, 3)], [(1, 10)], [Start(2, 3), Start(3, 3)], id="alike jobs all start"
        ),
        pytest.param(
            [],
            [(1, 4, 2, 16, {"acted": -100.0}), (2, 4, 2, 6)],
            [Grow(2, 6), WakeAt(80.0)],
            id="a receiver's gap is waited for",
        ),
        pytest.param([], [(1, 4, 2, 4), (2, 4)], [], id="nobody can take more"),
    ],
)
def test_hands_out_what_is_free(kit: Any, waits: Any, runs: Any, expected: Any) -> None:
    queued = [kit.waits(*each) for each in waits]
    state = kit.state(16, queued, [_running(kit, *each) for each in runs], ENDED)
    assert kit.answer(PriorityElastic(), state) == expected


@pytest.mark.parametrize(
    "changes", [WOKEN, (), (Change(Happened.REFUSED, 9),)], ids=["woken", "tick", "refused"]
)
def test_queued_jobs_try_again(kit: Any, changes: Any) -> None:
    """When a gap ended or an order failed, in order; what ask for the same fail together."""
    queued = [kit.waits(1, 6), kit.waits(2, 2), kit.waits(3, 6), kit.waits(4, 2)]
    state = kit.state(8, queued, [kit.runs(9, 8, 4, 8)], changes)
    assert kit.answer(PriorityElastic(), state) == [Shrink(9, 6), Start(2, None, (9,))]


def test_an_end_does_not_make_others_shrink(kit: Any) -> None:
    state = kit.state(8, [kit.waits(1, 4)], [kit.runs(9, 7, 4, 7)], ENDED)
    assert kit.answer(PriorityElastic(), state) == []


def test_units_stay_free_for_launchers(kit: Any) -> None:
    """Two running jobs, and the one that starts, need one each."""
    state = kit.state(16, [kit.waits(5, 2, 16)], [kit.runs(1, 4), kit.runs(2, 4)], arrived(5))
    assert kit.answer(PriorityElastic(launcher=1), state) == [Start(5, 5)]
    state = kit.state(16, [], [kit.runs(1, 4, 2, 16), kit.runs(2, 4)], ENDED)
    assert kit.answer(PriorityElastic(launcher=1), state) == [Grow(1, 10)]


def test_a_job_of_the_whole_cluster_starts_without_room_for_its_launcher(kit: Any) -> None:
    assert kit.answer(PriorityElastic(launcher=1), kit.state(8, [kit.waits(1, 8)])) == [Start(1)]


@pytest.fixture(scope="module")
def workloads() -> list[Workload]:
    return [
        charm.workload(drawn, gap)
        for drawn, gap in zip(charm.draws(6), (0, 30, 60, 90, 120, 180), strict=True)
    ]


def test_with_an_infinite_gap_it_is_moldable(workloads: list[Workload]) -> None:
    for workload in workloads:
        assert simulate(workload, PriorityElastic(gap=math.inf)).jobs == simulate(workload, Moldable()).jobs


def test_with_one_size_it_is_rigid(workloads: list[Workload]) -> None:
    for workload in workloads:
        rigid = replace(workload, jobs=tuple(job._replace(max=job.min) for job in workload.jobs))
        assert simulate(rigid, PriorityElastic()).jobs == simulate(rigid, Backfill()).jobs
