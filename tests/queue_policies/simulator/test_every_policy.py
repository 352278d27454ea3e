"""What holds for every registered policy while units fail; without failures see `tests/queue_policies`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_policies import plugins
from queue_policies.simulator.cost import Cost, PerUnit, Relaunch
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.failure import Failures
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import Preemption, SimulationOptions
from queue_policies.simulator.speedup import Amdahl
from queue_policies.simulator.workload import Workload
from tests.budgets import examples

TOTAL = 12
POLICIES = sorted(plugins.policies())
COSTS = st.sampled_from(
    [
        Cost(),
        Relaunch(base=2, unit=0.5),
        PerUnit(release=2, registration=6, grow=3, shrink=2),
        PerUnit(release=1, registration=3, blocking=True, grow=3, shrink=2),
    ]
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[WorkloadJob, ...]:
    found, submitted = [], 0.0
    for number in range(1, draw(st.integers(1, 6)) + 1):
        submitted += draw(st.integers(0, 30))
        least = draw(st.integers(1, TOTAL))
        most = draw(st.integers(least, TOTAL))
        time = Amdahl(float(draw(st.integers(1, 600))), draw(st.sampled_from([0.5, 0.9, 1.0])))
        limit = draw(st.sampled_from([float("inf"), 2 * time.seconds(least) + 1000]))
        priority = draw(st.integers(0, 31))
        malleable = draw(st.booleans())
        found.append(WorkloadJob(number, submitted, least, most, time, limit, priority, malleable=malleable))
    return tuple(found)


@st.composite
def options(draw: st.DrawFn) -> SimulationOptions:
    estimates = Estimates(draw(st.booleans()), draw(st.sampled_from([0.0, 0.5])))
    mtbf, checkpoint = draw(st.sampled_from([2000.0, 20_000.0])), draw(st.sampled_from([5.0, 20.0]))
    failures = Failures(mtbf, repair=50, checkpoint=checkpoint, restart=5)
    preemption = Preemption(draw(st.sampled_from([0.0, 15.0])), draw(st.sampled_from([0.0, 5.0])))
    refusals, seed = draw(st.sampled_from([0.0, 0.3])), draw(st.integers(0, 5))
    return SimulationOptions(estimates, refusals, failures, seed, preemption)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(25))
@given(jobs=jobs(), cost=COSTS, tick=st.sampled_from([0.0, 5.0]), options=options())
def test_every_job_ends_within_capacity_although_units_fail(
    name: str, jobs: tuple[WorkloadJob, ...], cost: Cost, tick: float, options: SimulationOptions
) -> None:
    """Failures are told as a smaller cluster, an end and an arrival."""
    policy = plugins.load(name)
    workload = Workload("drawn", jobs, TOTAL, cost=cost, tick=tick)
    outcome = simulate(workload, policy, options)
    assert outcome == simulate(workload, policy, options), "the same input gives the same output"
    assert [job.id for job in outcome.jobs] == [job.id for job in jobs]
    _check_sizes(outcome, jobs)
    _check_capacity(outcome)


def _check_sizes(outcome: Any, jobs: tuple[WorkloadJob, ...]) -> None:
    for job, became in zip(jobs, outcome.jobs, strict=True):
        assert job.submitted <= became.started <= became.ended
        assert all(size == 0 or job.min <= size <= job.max for _, size in became.sizes)
        if not job.malleable and not became.restarts and not became.preemptions:
            assert len(became.sizes) == 2, "it had one size"


def _check_capacity(outcome: Any) -> None:
    changes: list[tuple[float, int]] = []
    for job in outcome.jobs:
        before = 0
        for time, size in job.sizes:
            changes.append((time, size - before))
            before = size
    allocated = 0
    for _, change in sorted(changes):  # at one moment what is returned comes first
        allocated += change
        assert allocated <= TOTAL


@settings(max_examples=examples(25))
@given(jobs=jobs())
def test_the_work_that_is_done_is_the_work_there_is(jobs: tuple[WorkloadJob, ...]) -> None:
    """Without costs, the time at each size over the time that all would take there adds up to one job."""
    for name in ("malleable", "water-filling"):
        outcome = simulate(Workload("drawn", jobs, TOTAL), plugins.load(name))
        for job, became in zip(jobs, outcome.jobs, strict=True):
            done = sum((end - begin) / job.time.seconds(size) for begin, end, size in became.spans())
            assert done == pytest.approx(1.0) or became.end == "timeout"
