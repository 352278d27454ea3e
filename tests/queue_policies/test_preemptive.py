"""Preemptive priority: who gives way to whom."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.counting import CountingCluster, Units
from queue_policies.errors import PolicySettings
from queue_policies.plugins import load
from queue_policies.preemptive import Preemptive
from queue_policies.queue import IndexedQueue
from queue_policies.records import Elastic, Preempt, QueuedJob, RunningJob, Start, State
from queue_policies.running import RunningJobs

TOTAL = 8


def answer(
    running: list[RunningJob], head: tuple[int, int], *, preemption: bool = True, margin: int = 1
) -> list[Any]:
    """What is done for a job of some priority and size."""
    cluster = CountingCluster(TOTAL)
    for job in running:
        cluster.hold(job.id, job.size)
    priority, size = head
    queue = IndexedQueue([QueuedJob(99, priority, Units(size), 0.0)])
    return list(Preemptive(margin).decide(State(queue, RunningJobs(running), cluster, (), preemption), 0.0))


def job(number: int, priority: int, size: int, **fields: Any) -> RunningJob:
    return RunningJob(number, Units(size), 0.0, priority=priority, **fields)


@pytest.mark.parametrize(
    ("running", "head", "preempted"),
    [
        pytest.param([job(1, 5, 8)], (6, 2), [1], id="one that ranks lower"),
        pytest.param([job(1, 5, 8)], (5, 2), [], id="not an equal one"),
        pytest.param([job(1, 3, 4), job(2, 1, 4)], (9, 4), [2], id="the lowest first"),
        pytest.param([job(1, 1, 4), job(2, 1, 4)], (9, 4), [2], id="of equal ones the later"),
        pytest.param([job(1, 2, 6), job(2, 1, 2)], (9, 6), [1], id="none that need not"),
        pytest.param([job(1, 1, 2), job(2, 7, 6)], (5, 4), [], id="nobody where that does not help"),
        pytest.param([job(1, 1, 4, stopping=True), job(2, 1, 4)], (9, 4), [], id="enough do already"),
        pytest.param([job(1, 1, 4, stopping=True), job(2, 1, 4)], (9, 8), [2], id="one more than those"),
        pytest.param(
            [job(1, 2, 4), job(2, 1, 4, elastic=Elastic(1, 8, malleable=True), heeds=False)],
            (9, 4),
            [1],
            id="none amid an order",
        ),
    ],
)
def test_those_that_rank_lower_give_way(
    running: list[RunningJob], head: tuple[int, int], preempted: list[int]
) -> None:
    assert answer(running, head) == [Preempt(number) for number in preempted]


def test_a_margin_keeps_those_that_are_not_far_below() -> None:
    assert answer([job(1, 5, 8)], (14, 2), margin=10) == []
    assert answer([job(1, 5, 8)], (15, 2), margin=10) == [Preempt(1)]


def test_nobody_gives_way_for_a_job_that_fits() -> None:
    assert answer([job(1, 1, 4)], (9, 4)) == [Start(99)]


def test_where_jobs_cannot_be_preempted_it_waits() -> None:
    assert answer([job(1, 1, 8)], (9, 4), preemption=False) == []


def test_a_margin_is_from_one_on() -> None:
    with pytest.raises(PolicySettings) as error:
        load("preemptive", {"margin": 0})
    assert "margin" in str(error.value)
