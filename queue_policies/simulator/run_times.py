"""The estimates for policies in a simulation: given, or learned from the progress of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.learning import Learner

if TYPE_CHECKING:
    from queue_policies.records import RunTime
    from queue_policies.simulator.estimate import Estimates
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.job_run import JobRun


class RunTimes:
    """The estimates of one simulation; `learned` and `report` are those of `Estimates`."""

    def __init__(self, estimates: Estimates) -> None:
        self.learned = estimates.learned
        self.report = estimates.report
        self._estimates = estimates
        self._learner = Learner()

    def estimate(self, job: WorkloadJob) -> RunTime | None:
        """Return the estimate of a job's run time; None: unknown."""
        if not self.learned:
            return self._estimates.of(job)
        return self._learner.estimate(job.kind or job.id, job.min, job.limit)

    def observe(self, run: JobRun, now: float) -> None:
        """Learn from the job's progress at its present size."""
        if self.learned and now > run.since and run.per and not run.limited:
            seconds = now - run.since
            self._learner.observe(run.job.kind or run.job.id, run.size, seconds / run.per, seconds)
