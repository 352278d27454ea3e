"""What starts whatever fits: backfill, and the variants that differ by the size at which a job starts."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.backfill import Backfill
from queue_policies.records import Change, Happened, Start
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("backfill", [Start(1, 6), Start(4)], id="backfill: the largest that fits"),
        pytest.param("moldable", [Start(1, 6), Start(4)], id="moldable: the same"),
        pytest.param("rigid-min", [Start(1, 4), Start(3, 2), Start(4)], id="rigid-min: the least"),
        pytest.param("rigid-max", [Start(3, 4), Start(4)], id="rigid-max: the largest or none"),
        pytest.param("fcfs", [Start(1, 7)], id="fcfs: nothing overtakes"),
    ],
)
def test_the_size_at_which_jobs_start(kit: Any, name: str, expected: list[Start]) -> None:
    """Job 2 never fits; with 7 free, job 1 can have all that job 4 leaves."""
    queued = [kit.waits(1, 4, 8 if name not in {"backfill", "moldable"} else 6)]
    queued += [kit.waits(2, 8, 12), kit.waits(3, 2, 4), kit.waits(4, 1)]
    state = kit.state(16, queued, [kit.runs(9, 9)])
    assert kit.answer(plugins.load(name), state) == expected


def test_rigid_max_takes_the_whole_cluster_for_what_is_larger(kit: Any) -> None:
    state = kit.state(16, [kit.waits(1, 4, 99)])
    assert kit.answer(plugins.load("rigid-max"), state) == [Start(1, 16)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([Change(Happened.ARRIVED, 3)], [Start(3)], id="only what arrived is looked at"),
        pytest.param(
            [Change(Happened.ARRIVED, 1), Change(Happened.ARRIVED, 3)], [Start(3)], id="of two, one fits"
        ),
        pytest.param([Change(Happened.ARRIVED, 7)], [], id="it has left again"),
        pytest.param([Change(Happened.ENDED, 7)], [Start(2), Start(3)], id="all when something ended"),
    ],
)
def test_only_what_changed_is_considered(kit: Any, changes: Any, expected: list[Start]) -> None:
    """Job 2 would have been started at the last decision, had it been possible."""
    queued = [kit.waits(1, 4), kit.waits(2, 1), kit.waits(3, 1)]
    state = kit.state(4, queued, [kit.runs(9, 2)], changes)
    assert kit.answer(plugins.load("backfill"), state) == expected


@pytest.mark.parametrize(
    ("objective", "order"), [("order", [1, 2, 3]), ("response", [2, 1, 3]), ("makespan", [3, 1, 2])]
)
def test_an_objective_orders_jobs_by_their_estimates(objective: str, order: list[int]) -> None:
    times = {1: 20.0, 2: 10.0, 3: 30.0}
    jobs = [WorkloadJob(number, 0.0, 4, 4, Fixed(seconds)) for number, seconds in times.items()]
    outcome = simulate(Workload("test", tuple(jobs), 4), Backfill(objective))
    assert [job.id for job in sorted(outcome.jobs, key=lambda job: job.started)] == order


@pytest.mark.parametrize(
    ("submitted", "first"),
    [
        pytest.param(0.0, 1, id="it has waited for all of its run time, the short one for less of its own"),
        pytest.param(50.0, 2, id="it has waited for half of its run time, the short one for more"),
        pytest.param(20.0, 2, id="both have waited alike: the short one"),
    ],
)
def test_for_responses_a_long_job_that_has_waited_passes_a_short_one(
    kit: Any, submitted: float, first: int
) -> None:
    queued = [kit.waits(1, 4, submitted=submitted, limit=100.0), kit.waits(2, 4, submitted=60.0, limit=50.0)]
    assert kit.answer(Backfill("response"), kit.state(4, queued), 100.0) == [Start(first)]


@pytest.mark.parametrize(
    ("seconds", "first"),
    [
        pytest.param(
            500.0, 2, id="more than twice the 225 s that all units need for the rest: it goes first"
        ),
        pytest.param(200.0, 1, id="less than twice 150 s: the short one, which has waited for longer"),
    ],
)
@pytest.mark.parametrize("known", ["estimate", "limit"])
def test_for_responses_what_would_end_last_goes_first(
    kit: Any, seconds: float, first: int, known: str
) -> None:
    queued = [kit.waits(1, 4, limit=100.0), kit.waits(2, 4, submitted=90.0, limit=seconds)]
    left: dict[str, Any] = {
        "estimate": {"estimate": Fixed(400.0), "remaining": 0.5, "measured": 0.0},
        "limit": {"end": 200.0},
    }
    state = kit.state(16, queued, [kit.runs(9, 12, **left[known])])
    assert kit.answer(Backfill("response"), state, 100.0) == [Start(first)]


def test_for_responses_jobs_of_unknown_length_go_in_order_behind_others(kit: Any) -> None:
    queued = [kit.waits(1, 2), kit.waits(2, 2), kit.waits(3, 2, submitted=90.0, limit=1000.0)]
    assert kit.answer(Backfill("response"), kit.state(4, queued), 100.0) == [Start(3), Start(1)]
