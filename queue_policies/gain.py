"""The gain of a size: the seconds that a job saves or loses by more or fewer units, by its estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_policies.records import QueuedJob, RunningJob, RunTime

UNLIMITED = 3600.0
"""Seconds that a job without estimate and limit is assumed to need at its least size."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Amdahl's law for a job without estimate: its limit at its least size, and less at larger ones."""

    base: float
    """Seconds at the least size."""
    least: int
    """The least size."""
    serial: float
    """The share that does not run in parallel."""

    def seconds(self, size: int) -> float:
        """Return the seconds from start to end at this size."""
        return self.base * (self.serial + (1 - self.serial) * self.least / size)


def run_time(job: QueuedJob | RunningJob, limit: float, serial: float) -> RunTime:
    """Return the job's estimate, or a guess by its time limit."""
    if job.estimate is not None:
        return job.estimate
    least = job.elastic.min if job.elastic else job.request.size
    return Guess(limit if limit < math.inf else UNLIMITED, least, serial)


def left(job: RunningJob, estimate: RunTime, now: float) -> float:
    """Return the share of a running job's work that is left.

    If its progress is not known, that is computed from its run time so far.
    """
    remaining, since = (1.0, job.started) if job.remaining is None else (job.remaining, job.measured)
    done = max(0.0, now - since) / max(estimate.seconds(job.request.size), 1e-9)
    return max(0.0, remaining - done)


def steps(most: int) -> list[int]:
    """Return the changes of size that are compared: powers of two, and `most`."""
    found = []
    step = 1
    while step < most:
        found.append(step)
        step *= 2
    if most > 0:
        found.append(most)
    return found
