"""What policies know of run times: the truth, the truth with an error, what was seen, or nothing."""

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
    """Told to policies unless `known` is false; off by up to the share `error` each way, one factor a job.

    `learned`: not told, but learned from the progress that jobs of the same kind report, `report` seconds
    after they began to compute at a size and when they are done with it.
    """

    known: bool = True
    error: float = 0.0
    seed: int = 0
    learned: bool = False
    report: float = 10.0

    def of(self, job: WorkloadJob) -> RunTime | None:
        """The estimate of a job; the same for the same seed and job, whatever else happens."""
        if not self.known:
            return None
        if not self.error:
            return job.time
        factor = random.Random(f"{self.seed}/{job.id}").uniform(1 - self.error, 1 + self.error)  # noqa: S311
        return Scaled(job.time, factor)
