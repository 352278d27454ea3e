"""A job of a workload, with its true run time, which policies do not know."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.simulator.errors import WorkloadError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.placement.records import TaskShape
    from queue_policies.simulator.speedup import SpeedUp

PRIORITY = 16  # Flux's default urgency


class WorkloadJob(NamedTuple):
    """A job of a workload. Sizes are in the cluster's units. With min = max it is rigid, else moldable."""

    id: int
    submitted: float
    min: int
    max: int
    time: SpeedUp
    """The true seconds of the whole job at each size."""
    limit: float = math.inf
    priority: int = PRIORITY
    user: int = 0
    malleable: bool = False
    """Whether a job that is not rigid is malleable."""
    redistribution: float = 0.0
    """Seconds of moving its data at a resize."""
    kind: str = ""
    """Its program, for reports, and for models of contention."""
    shape: TaskShape | None = None
    """What its tasks are like, for placements on nodes; None: unknown."""


def checked(jobs: Iterable[WorkloadJob], total: int, source: str) -> tuple[WorkloadJob, ...]:
    """Return the jobs by submission, then id. Raises WorkloadError, with the source, for an invalid job."""
    if total < 1:
        raise WorkloadError(f"{source}: a cluster of {total} units; at least one is needed")
    ordered = tuple(jobs)
    if not ordered:
        raise WorkloadError(f"{source}: there is no job in it")
    for job in ordered:
        fault = _fault(job, total)
        if fault:
            raise WorkloadError(f"{source}: job {job.id}: {fault}")
    _check_order(ordered, source)
    return ordered


def _check_order(jobs: Sequence[WorkloadJob], source: str) -> None:
    seen: set[int] = set()
    before, last = -math.inf, -1
    for job in jobs:
        if job.id in seen:
            raise WorkloadError(f"{source}: job {job.id} is there twice; each id must be there once")
        seen.add(job.id)
        if job.submitted < before:
            raise WorkloadError(
                f"{source}: job {job.id} was submitted at {job.submitted:g} s, and the one before it at "
                f"{before:g} s; jobs must be sorted by submission"
            )
        if job.id < last:
            raise WorkloadError(
                f"{source}: job {job.id} comes after job {last}; ids must rise with submission, as they "
                "break ties"
            )
        before, last = job.submitted, job.id


def _fault(job: WorkloadJob, total: int) -> str:  # noqa: PLR0911 - a line each
    if not math.isfinite(job.submitted) or job.submitted < 0:
        return f"submitted at {job.submitted:g} s; needed is a time from 0 on"
    if job.min < 1:
        return f"min is {job.min}; at least one unit is needed"
    if job.min > job.max:
        return f"min is {job.min} and max {job.max}; min must not be larger"
    if job.min > total:
        return f"needs {job.min} units, and the cluster has {total}; --oversized skips or clips it"
    if math.isnan(job.limit) or job.limit <= 0:
        return f"a time limit of {job.limit:g} s; needed is one above 0"
    if not math.isfinite(job.redistribution) or job.redistribution < 0:
        return f"redistribution takes {job.redistribution:g} s; needed is a time from 0 on"
    for size in (job.min,) if job.min == job.max else (job.min, min(job.max, total)):
        seconds = job.time.seconds(size)
        if not math.isfinite(seconds) or seconds < 0:
            return f"runs for {seconds:g} s on {size}; needed is a time from 0 on"
    return ""
