"""What policies know of run times: exact times, times with an error, learned times, or nothing."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.simulator.speedup import Scaled

if TYPE_CHECKING:
    from queue_policies.records import RunTime
    from queue_policies.simulator.job import WorkloadJob


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates that policies get."""

    known: bool = True
    """Whether there are any."""
    error: float = 0.0
    """The largest relative error, in both directions. Each job has one factor."""
    seed: int = 0
    learned: bool = False
    """Whether they are learned instead, from the progress that jobs of the same kind report."""
    report: float = 10.0
    """A job reports its progress so many seconds after it began to compute at a size, and when that ends."""

    def of(self, job: WorkloadJob) -> RunTime | None:
        """Return the estimate of a job. It depends only on the seed and the job."""
        if not self.known:
            return None
        if not self.error:
            return job.time
        factor = random.Random(f"{self.seed}/{job.id}").uniform(1 - self.error, 1 + self.error)  # noqa: S311
        return Scaled(job.time, factor)
