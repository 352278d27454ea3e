"""The output of jobs, stored up to each job's limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobState
from minicluster.embedded import log
from minicluster.embedded.jobs.output_limit import OutputLimit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts


class JobOutput:
    """Stores output of active jobs. A job whose output cannot be stored fails."""

    def __init__(self, parts: Parts, jobs: ActiveJobs, commits: CommitLoop, lifecycle: JobLifecycle) -> None:
        self._parts = parts
        self._jobs = jobs.by_id
        self._commits = commits
        self._lifecycle = lifecycle
        self._limits: dict[int, OutputLimit] = {}
        lifecycle.on_inactive.append(self._forget)
        commits.on_lost.append(self._lost)

    def write(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """Store a task's output, up to the job's limit."""
        if jobid not in self._jobs:
            return
        limit = self._limits.setdefault(jobid, OutputLimit())
        kept, warning = limit.admit(stream, data)
        if warning:
            self.shell_log(jobid, 0, log.WARNING, warning)
        if kept:
            self._keep(jobid, task, stream, kept)

    def redirected(self, jobid: int, tasks: int, stream: str, path: str) -> None:
        """Note that a stream of all tasks goes to a file."""
        self._keep(jobid, tasks, f"redirect-{stream}", path.encode("utf-8", "surrogateescape"))

    def shell_log(self, jobid: int, node: int, level: int, message: str, component: str = "") -> None:
        """Store a message of the job's shell, or of a component of it, among the job's output."""
        stream = f"log{level}.{component}" if component else f"log{level}"
        self._keep(jobid, node, stream, message.encode(errors="replace"))

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """Note that a task's stream ended."""
        self._keep(jobid, task, stream, None)

    def _keep(self, jobid: int, task: int, stream: str, data: bytes | None) -> None:
        if jobid in self._jobs:
            self._parts.store.output.append(jobid, task, stream, data, self._parts.clock())
            self._commits.schedule()

    def _forget(self, job: ActiveJob) -> None:
        self._limits.pop(job.id, None)

    def _lost(self, jobs: Iterable[int], reason: str) -> None:
        for jobid in jobs:
            job = self._jobs.get(jobid)
            if job is not None and job.state == JobState.RUN:
                self._lifecycle.raise_exception(job, "exec", 0, reason)
