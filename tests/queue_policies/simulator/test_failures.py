"""Units that fail, and jobs that begin again."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.fcfs import Fcfs
from queue_policies.plugins import load
from queue_policies.simulator.cost import PerUnit
from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.failure import FailureModel, Failures
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions


def _failed(kit: Any, **settings: Any) -> Any:
    """A job of 100 s on all units, of which some fail every 400 s on average."""
    failures = Failures(mtbf=400, repair=10, **settings)
    outcome = simulate(
        kit.workload(kit.rigid(1, 8, 100)), Fcfs(), SimulationOptions(failures=failures, seed=3)
    )
    return outcome.jobs[0]


def test_without_checkpoints_a_failed_job_begins_from_nothing(kit: Any) -> None:
    job = _failed(kit)
    assert job.restarts > 0
    last = max(begin for begin, _, _ in job.spans())
    assert job.ended - last == pytest.approx(100)


def test_with_checkpoints_it_loses_only_what_it_did_since_the_last(kit: Any) -> None:
    job = _failed(kit, checkpoint=5, restart=1)
    computed = sum(end - begin for begin, end, _ in job.spans())
    assert job.restarts > 0
    assert computed == pytest.approx(100 + job.idle)
    assert job.idle <= job.restarts * (5 + 1)


def test_a_failed_unit_is_not_used_until_it_is_repaired(kit: Any) -> None:
    job = _failed(kit)
    gaps = [begin for (_, size), (begin, _) in zip(job.sizes, job.sizes[1:], strict=False) if size == 0]
    returns = [time for time, size in job.sizes[:-1] if size == 0]
    assert all(begin - end >= 10 for begin, end in zip(gaps, returns, strict=True))


def test_jobs_that_start_after_others_shrank_and_those_that_resize_survive_failures(kit: Any) -> None:
    jobs = [kit.malleable(n, 1, 8, 300, 10.0 * n) for n in range(1, 12)]
    workload = kit.workload(*jobs, cost=PerUnit(grow=5, shrink=5, release=2))
    for seed in range(10):
        failures = SimulationOptions(failures=Failures(1000, repair=30, checkpoint=10), seed=seed)
        outcome = simulate(workload, load("min-agreement"), failures)
        assert {job.end for job in outcome.jobs} == {"completed"}


def test_who_is_hit_is_in_proportion_to_what_is_allocated() -> None:
    failure_model = FailureModel(Failures(100), seed=1)
    hits = [failure_model.hit(2, [(7, 6), (8, 2)]) for _ in range(2000)]
    assert hits.count(7) / 2000 == pytest.approx(0.6, abs=0.05)
    assert hits.count(None) / 2000 == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mtbf": 0}, "failures: a mean time of 0 s between them; needed is one above 0"),
        ({"mtbf": float("nan")}, "failures: a mean time of nan s between them; needed is one above 0"),
        ({"mtbf": 1, "repair": -1}, "failures: repair is -1 s; needed is a time from 0 on"),
    ],
)
def test_impossible_failures_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SimulationError) as error:
        Failures(**settings)
    assert str(error.value) == message


def test_a_fraction_of_refusals_is_a_fraction() -> None:
    with pytest.raises(SimulationError, match=r"refusals are 1; needed is a share from 0 to below 1"):
        SimulationOptions(refusals=1)


def test_a_scheduler_that_a_shrink_blocks_goes_on_where_the_shrinking_job_fails(kit: Any) -> None:
    jobs = [kit.malleable(n, 1, 8, 300, 10.0 * n) for n in range(1, 12)]
    workload = kit.workload(*jobs, cost=PerUnit(grow=5, shrink=20, release=2, blocking=True))
    for seed in range(10):
        failures = SimulationOptions(failures=Failures(400, repair=30, checkpoint=10), seed=seed)
        outcome = simulate(workload, load("min-agreement"), failures)
        assert {job.end for job in outcome.jobs} == {"completed"}


def test_a_job_that_fails_for_ever_is_reported(kit: Any) -> None:
    workload = kit.workload(kit.rigid(1, 8, 1000))
    with pytest.raises(
        SimulationError, match=r"^job 1 was started again 1000 times after failures and does not"
    ):
        simulate(workload, Fcfs(), SimulationOptions(failures=Failures(mtbf=10, repair=1)))
