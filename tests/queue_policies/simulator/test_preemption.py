"""Jobs that are preempted: they write a checkpoint, wait, and go on from there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queue_policies.fcfs import Fcfs
from queue_policies.preemptive import Preemptive
from queue_policies.records import Preempt, RunningJob, State
from queue_policies.simulator.cost import PerUnit
from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.failure import Failures
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import Preemption, SimulationOptions
from tests.budgets import examples

COSTLY = SimulationOptions(preemption=Preemption(checkpoint=3, restart=5))


def _interrupted(kit: Any, options: SimulationOptions | None = None, **fields: Any) -> tuple[Any, Any]:
    """A job of 100 s on all units, and after 40 s an urgent one of 20 s."""
    jobs = kit.rigid(1, 8, 100), kit.rigid(2, 8, 20, 40.0)._replace(priority=31)
    first, second = (job._replace(**fields) for job in jobs)
    outcome = simulate(kit.workload(first, second), Preemptive(), options)
    return outcome.jobs[0], outcome.jobs[1]


def test_it_goes_on_where_it_was(kit: Any) -> None:
    low, urgent = _interrupted(kit)
    assert (urgent.started, urgent.ended) == (40, 60)
    assert low.sizes == ((0, 8), (40, 0), (60, 8), (120, 0))
    assert (low.started, low.ended, low.preemptions, low.restarts, low.idle) == (0, 120, 1, 0, 0)
    assert (urgent.preemptions, low.wait) == (0, 0)


def test_a_checkpoint_holds_the_units_and_a_restart_takes_time(kit: Any) -> None:
    low, urgent = _interrupted(kit, COSTLY)
    assert (urgent.started, urgent.ended) == (43, 63)
    assert low.sizes == ((0, 8), (43, 0), (63, 8), (63 + 5 + 60, 0))
    assert low.idle == 3 + 5


def test_its_time_limit_is_for_its_work_alone(kit: Any) -> None:
    low, _ = _interrupted(kit, COSTLY, limit=100.0)
    assert (low.end, low.ended) == ("completed", 128)
    low, _ = _interrupted(kit, COSTLY, limit=90.0)
    assert (low.end, low.ended) == ("timeout", 118)


def test_without_the_policy_nothing_is_preempted(kit: Any) -> None:
    jobs = kit.rigid(1, 8, 100), kit.rigid(2, 8, 20, 40.0)._replace(priority=31)
    assert [each.preemptions for each in simulate(kit.workload(*jobs), Fcfs(), COSTLY).jobs] == [0, 0]


def test_a_unit_that_fails_amid_a_checkpoint_loses_no_more_than_that(kit: Any) -> None:
    """It is stopped once, and ends."""
    jobs = [kit.rigid(n, 4, 50, 10.0 * n)._replace(priority=n % 7) for n in range(1, 15)]
    for seed in range(20):
        given_ = SimulationOptions(
            failures=Failures(150, repair=20, checkpoint=10), seed=seed, preemption=Preemption(20, 5)
        )
        outcome = simulate(kit.workload(*jobs), Preemptive(), given_)
        assert {job.end for job in outcome.jobs} == {"completed"}
        assert sum(job.preemptions for job in outcome.jobs) > 0
        for job in outcome.jobs:
            used = sum(end - begin for begin, end, _ in job.spans())
            assert used == pytest.approx(50 + job.idle)


DRAWN = st.tuples(st.integers(1, 8), st.integers(1, 90), st.integers(0, 5))


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drawn=st.lists(DRAWN, min_size=2, max_size=12),
    checkpoint=st.sampled_from([0.0, 2.0]),
    release=st.sampled_from([0.0, 3.0]),
)
def test_no_work_is_lost_and_none_done_twice(
    kit: Any, drawn: list[tuple[int, int, int]], checkpoint: float, release: float
) -> None:
    jobs = [
        kit.malleable(n, 1, size, 10.0 * seconds, 7.0 * n)._replace(priority=priority)
        for n, (size, seconds, priority) in enumerate(drawn, 1)
    ]
    workload = kit.workload(*jobs, cost=PerUnit(release=release, registration=4))
    outcome = simulate(workload, Preemptive(), SimulationOptions(preemption=Preemption(checkpoint, 1.0)))
    for job, became in zip(jobs, outcome.jobs, strict=True):
        used = sum(end - begin for begin, end, _ in became.spans())
        idle = became.idle + release
        done = sum((end - begin) / job.time.seconds(size) for begin, end, size in became.spans())
        assert used > idle or used == pytest.approx(idle)
        assert done >= 1 - 1e-9
        if not became.preemptions:
            assert used == pytest.approx(job.time.seconds(became.sizes[0][1]) + idle)


@pytest.mark.parametrize("name", ["checkpoint", "restart"])
@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_impossible_costs_are_refused(name: str, seconds: float) -> None:
    with pytest.raises(SimulationError) as error:
        Preemption(**{name: seconds})
    assert str(error.value) == f"preemption: {name} is {seconds:g} s; needed is a time from 0 on"


def test_a_job_that_is_ending_is_left_alone(kit: Any) -> None:
    """Its work is done, its units come back in a moment: that is no reason to preempt another one."""
    seen: list[RunningJob] = []

    def watch(state: State, now: float, actions: Any) -> None:
        seen.extend(state.running.by_order())
        assert not any(isinstance(action, Preempt) for action in actions), now

    jobs = kit.rigid(1, 8, 40), kit.rigid(2, 8, 20, 41.0)._replace(priority=31)
    workload = kit.workload(*jobs, cost=PerUnit(release=5))
    outcome = simulate(workload, Preemptive(), COSTLY, watch)
    assert any(job.stopping for job in seen)
    assert outcome.jobs[1].started == 45
