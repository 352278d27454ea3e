"""What a size is worth: seconds that a job saves or loses by more or fewer units, by its estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_policies.records import QueuedJob, RunningJob, RunTime

UNLIMITED = 3600.0  # seconds at its least size that a job is taken to need of which nothing is known


@dataclass(frozen=True, slots=True)
class Guess:
    """Amdahl's law for a job without estimate: what its limit allows at its least size, and less on more."""

    base: float
    least: int
    serial: float

    def seconds(self, size: int) -> float:
        """From start to end at this size."""
        return self.base * (self.serial + (1 - self.serial) * self.least / size)


def run_time(job: QueuedJob | RunningJob, limit: float, serial: float) -> RunTime:
    """The job's estimate, or a guess by its time limit."""
    if job.estimate is not None:
        return job.estimate
    least = job.elastic.min if job.elastic else job.request.size
    return Guess(limit if limit < math.inf else UNLIMITED, least, serial)


def left(job: RunningJob, estimate: RunTime, now: float) -> float:
    """The share of a running job's work that is left; where nothing is told, by the time that it runs."""
    remaining, since = (1.0, job.started) if job.remaining is None else (job.remaining, job.measured)
    done = max(0.0, now - since) / max(estimate.seconds(job.request.size), 1e-9)
    return max(0.0, remaining - done)


def steps(most: int) -> list[int]:
    """The changes of size that are looked at: powers of two, and the whole."""
    found = []
    step = 1
    while step < most:
        found.append(step)
        step *= 2
    if most > 0:
        found.append(most)
    return found
