"""Jobs, their run times and costs; and workloads that cannot be simulated, each with its message."""

from __future__ import annotations

import math
from typing import Any

import pytest

from queue_policies.simulator.cost import Cost, PerUnit, Relaunch
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import Amdahl, Fixed, Hyperbolic, PiecewiseLinear, Scaled, Table
from queue_policies.simulator.workload import Workload

NAN = math.nan
LINE = PiecewiseLinear(((2, 10.0), (4, 6.0), (8, 4.0)), scale=2.0)


@pytest.mark.parametrize(
    ("model", "size", "seconds"),
    [
        (Fixed(7.0), 3, 7.0),
        (Amdahl(100.0, 0.9), 1, 100.0),
        (Amdahl(100.0, 0.9), 9, 20.0),
        (Hyperbolic(8.0, 108.0), 4, 35.0),
        (LINE, 2, 20.0),
        (LINE, 3, 16.0),
        (LINE, 6, 10.0),
        (LINE, 1, 24.0),
        (PiecewiseLinear(((2, 10.0),)), 9, 10.0),
        (Table(((2, 10.0), (4, 6.0))), 3, 10.0),
        (Table(((2, 10.0), (4, 6.0))), 9, 6.0),
        (Table(((2, 10.0), (4, 6.0))), 1, 10.0),
        (Scaled(Fixed(10.0), 1.5), 1, 15.0),
    ],
)
def test_models_of_speed_up(model: Any, size: int, seconds: float) -> None:
    assert model.seconds(size) == pytest.approx(seconds)


def test_a_line_that_goes_on_never_promises_more_than_perfect_speed_up() -> None:
    steep = PiecewiseLinear(((1, 10.0), (2, 4.0)))
    assert steep.seconds(4) == 4.0 * 2 / 4


def test_costs() -> None:
    job = WorkloadJob(1, 0, 1, 8, Fixed(1), redistribution=3.0)
    assert Cost().start(job, 4) == 0
    assert Cost().resize(job, 2, 4) == (0, 0)
    assert Relaunch(base=1, unit=0.5).start(job, 4) == 3
    assert Relaunch(base=1, unit=0.5).resize(job, 2, 4) == (0, 6)
    assert PerUnit(grow=3, shrink=2).resize(job, 2, 4) == (6, 0)
    assert PerUnit(grow=3, shrink=2).resize(job, 4, 1) == (6, 0)


def test_estimates_are_the_truth_off_by_one_factor_a_job_or_nothing() -> None:
    job = WorkloadJob(1, 0, 1, 8, Amdahl(100.0, 1.0))
    assert Estimates().of(job) is job.time
    assert Estimates(known=False).of(job) is None
    noisy = Estimates(error=0.2, seed=1).of(job)
    assert noisy is not None
    assert noisy == Estimates(error=0.2, seed=1).of(job)
    assert noisy != Estimates(error=0.2, seed=2).of(job)
    factor = noisy.seconds(1) / 100
    assert 0.8 <= factor <= 1.2
    assert noisy.seconds(4) == pytest.approx(25 * factor)


GOOD = WorkloadJob(1, 0.0, 2, 4, Fixed(10.0))


@pytest.mark.parametrize(
    ("jobs", "total", "message"),
    [
        ((), 8, "w: there is no job in it"),
        ((GOOD,), 0, "w: a cluster of 0 units; at least one is needed"),
        (
            (GOOD._replace(min=9, max=9),),
            8,
            "w: job 1: needs 9 units, and the cluster has 8; --oversized skips or clips it",
        ),
        ((GOOD._replace(min=5),), 8, "w: job 1: min is 5 and max 4; min must not be larger"),
        ((GOOD._replace(min=0),), 8, "w: job 1: min is 0; at least one unit is needed"),
        ((GOOD._replace(submitted=-1.0),), 8, "w: job 1: submitted at -1 s; needed is a time from 0 on"),
        ((GOOD._replace(submitted=NAN),), 8, "w: job 1: submitted at nan s; needed is a time from 0 on"),
        ((GOOD._replace(time=Fixed(-3.0)),), 8, "w: job 1: runs for -3 s on 2; needed is a time from 0 on"),
        ((GOOD._replace(time=Fixed(NAN)),), 8, "w: job 1: runs for nan s on 2; needed is a time from 0 on"),
        (
            (GOOD._replace(time=Hyperbolic(9, -30)),),
            8,
            "w: job 1: runs for -6 s on 2; needed is a time from 0 on",
        ),
        ((GOOD._replace(limit=0.0),), 8, "w: job 1: a time limit of 0 s; needed is one above 0"),
        ((GOOD._replace(limit=NAN),), 8, "w: job 1: a time limit of nan s; needed is one above 0"),
        (
            (GOOD._replace(redistribution=-1.0),),
            8,
            "w: job 1: redistribution takes -1 s; needed is a time from 0 on",
        ),
        ((GOOD, GOOD), 8, "w: job 1 is there twice; each id must be there once"),
        (
            (GOOD._replace(submitted=9.0), GOOD._replace(id=2, submitted=5.0)),
            8,
            "w: job 2 was submitted at 5 s, and the one before it at 9 s; jobs must be sorted by submission",
        ),
        (
            (GOOD._replace(id=2), GOOD),
            8,
            "w: job 1 comes after job 2; ids must rise with submission, as they break ties",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(jobs: tuple[WorkloadJob, ...], total: int, message: str) -> None:
    with pytest.raises(WorkloadError) as error:
        Workload("w", jobs, total)
    assert str(error.value) == message
