"""The metrics of an outcome: makespan, utilization, waits, turnarounds, slow-downs, and resizes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.outcome import RunOutcome

SLOWDOWN_BOUND = 10.0
"""Jobs that run for fewer seconds count as if they ran for so many (Feitelson and Rudolph, JSSPP 1998)."""


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The metrics of a run. Times are seconds, utilization a share; resizes and their cost are sums."""

    makespan: float
    """From the first submission to the last end."""
    utilization: float
    """Units held, of all units, in that time."""
    wait: float
    """Mean from submission to start; paper A's response."""
    wait_median: float
    wait_p95: float
    wait_max: float
    turnaround: float
    """Mean from submission to end; paper A's completion."""
    turnaround_median: float
    turnaround_p95: float
    slowdown: float
    """Mean of max(1, turnaround / max(run time, 10 s))."""
    slowdown_p95: float
    weighted_wait: float
    """Mean wait, weighted by priority; nan where all priorities are 0."""
    weighted_turnaround: float
    run_time: float
    """Mean from start to end."""
    grows: int
    shrinks: int
    refusals: int
    restarts: int
    """How often jobs began again after a unit failed."""
    preemptions: int
    idle: float
    """Seconds for which jobs held units without progress, summed over jobs."""
    timeouts: int
    """Jobs that their time limit ended."""
    jobs: int
    nodes: float = 0.0
    """Mean nodes on which a job had cores when it started; 0: units are only counted."""
    domains: float = 0.0
    """Mean memory domains of these."""


NAMES = tuple(field.name for field in dataclasses.fields(RunMetrics))


def measure(outcome: RunOutcome) -> RunMetrics:
    """Return the metrics of an outcome."""
    jobs = outcome.jobs
    waits = sorted(job.wait for job in jobs)
    turnarounds = sorted(job.turnaround for job in jobs)
    slowdowns = sorted(
        max(1.0, job.turnaround / max(job.ended - job.started, SLOWDOWN_BOUND)) for job in jobs
    )
    makespan = outcome.last_end - outcome.begin
    weight = sum(job.priority for job in jobs)
    return RunMetrics(
        makespan=makespan,
        utilization=sum(job.unit_seconds() for job in jobs) / (outcome.total * makespan) if makespan else 0.0,
        wait=_mean(waits),
        wait_median=percentile(waits, 0.5),
        wait_p95=percentile(waits, 0.95),
        wait_max=waits[-1],
        turnaround=_mean(turnarounds),
        turnaround_median=percentile(turnarounds, 0.5),
        turnaround_p95=percentile(turnarounds, 0.95),
        slowdown=_mean(slowdowns),
        slowdown_p95=percentile(slowdowns, 0.95),
        weighted_wait=sum(job.wait * job.priority for job in jobs) / weight if weight else math.nan,
        weighted_turnaround=sum(job.turnaround * job.priority for job in jobs) / weight
        if weight
        else math.nan,
        run_time=sum(job.ended - job.started for job in jobs) / len(jobs),
        grows=sum(job.grows for job in jobs),
        shrinks=sum(job.shrinks for job in jobs),
        refusals=sum(job.refusals for job in jobs),
        restarts=sum(job.restarts for job in jobs),
        preemptions=sum(job.preemptions for job in jobs),
        idle=sum(job.idle for job in jobs),
        timeouts=sum(job.end == "timeout" for job in jobs),
        jobs=len(jobs),
        nodes=sum(len(each[0][1]) for each in outcome.allocations) / len(jobs),
        domains=sum(_domains(outcome, each[0][1]) for each in outcome.allocations) / len(jobs),
    )


def mean(many: Iterable[RunMetrics]) -> dict[str, float]:
    """Return the mean of each metric over several runs."""
    rows = [dataclasses.astuple(each) for each in many]
    return {name: _mean(column) for name, column in zip(NAMES, zip(*rows, strict=True), strict=True)}


def _domains(outcome: RunOutcome, allocation: Allocation) -> int:
    """Return in how many domains a job has cores."""
    return sum(
        bool(cores & domain)
        for rank, (cores, _) in allocation.items()
        for domain in outcome.nodes[rank].domains or (cores,)
    )


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Return the value below which this fraction of ascending values lies, by linear interpolation."""
    position = fraction * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
