"""The active jobs by id, and the counts of jobs, which are updated at every change of state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobState
from minicluster.embedded.jobs.job_stats import JobStats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.embedded.jobs.job import ActiveJob


class ActiveJobs:
    """The jobs that have not ended."""

    def __init__(self, queues: Iterable[str]) -> None:
        self.by_id: dict[int, ActiveJob] = {}
        self.bypassing: list[ActiveJob] = []
        """Those that are to start with the resources that they have brought along."""
        self.stats = JobStats(queues)

    def move(self, job: ActiveJob, state: JobState) -> None:
        """Change a job's state."""
        self.stats.move(job, state)
        job.state = state

    def end(self, job: ActiveJob) -> None:
        """Note that a job is inactive."""
        self.move(job, JobState.INACTIVE)
        self.stats.end(job)
