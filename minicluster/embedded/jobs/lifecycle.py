"""The last states of a job: RUN, CLEANUP and INACTIVE of RFC 21, and exceptions."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobResult, JobState
from minicluster.embedded.jobs.job_attributes import attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.launch_queue import LaunchQueue
    from minicluster.embedded.jobs.parts import Parts


class JobLifecycle:
    """Moves jobs from RUN on to INACTIVE."""

    def __init__(self, parts: Parts, jobs: ActiveJobs, log: JobLog, launches: LaunchQueue) -> None:
        self.on_failed: list[Callable[[ActiveJob], None]] = []
        """Called when an exception ends a job."""
        self.on_inactive: list[Callable[[ActiveJob], None]] = []
        """Called when a job has been removed from the active ones."""
        self._parts = parts
        self._jobs = jobs
        self._log = log
        self._launches = launches

    def raise_exception(self, job: ActiveJob, kind: str, severity: int, note: str) -> float:
        """Append an exception, and return its time; severity 0 ends the job, where it has not ended."""
        if job.exception is None or severity < job.exception[1]:
            job.exception = (kind, severity, note)
        context = {"type": kind, "severity": severity, "note": note, "userid": self._parts.owner}
        now = self._log.append(job, "exception", context)
        if severity == 0 and job.state != JobState.CLEANUP:
            self._fail(job, now, signal.SIGALRM if kind == "timeout" else signal.SIGTERM)
        return now

    def _fail(self, job: ActiveJob, now: float, signum: int) -> None:
        self._parts.scheduler.dequeue(job.id)
        self.enter_cleanup(job, now)
        if job.R is None:
            self._log.remove_annotations(job)
        for callback in self.on_failed:
            callback(job)
        if self._launches.withdraw(job):
            job.start_pending = False
        if job.start_pending:
            self._parts.executor.kill(job.id, signum)
        else:
            self._clean(job)

    def enter_run(self, job: ActiveJob) -> None:
        """Note that the job has its resources, which the executor will release."""
        self._jobs.move(job, JobState.RUN)
        job.start_pending = True

    def enter_cleanup(self, job: ActiveJob, now: float) -> None:
        """Note that the job does not run any more, or will never run."""
        self._parts.scheduler.co_scheduling.stopping(job.id)
        self._jobs.move(job, JobState.CLEANUP)
        job.t_cleanup = now

    def finished(self, job: ActiveJob, status: int) -> None:
        """Note that every task ended."""
        if job.status is None:
            job.status = status
            now = self._log.append(job, "finish", {"status": status})
            if job.state == JobState.RUN:
                self.enter_cleanup(job, now)

    def released(self, job: ActiveJob) -> None:
        """Note that no rank has processes of the job any more."""
        if not job.start_pending:
            return
        now = self._log.append(job, "release", {"ranks": "all", "final": True})
        job.start_pending = False
        if job.state != JobState.CLEANUP:
            self.enter_cleanup(job, now)
        self._clean(job)

    def _clean(self, job: ActiveJob) -> None:
        """Move a job from CLEANUP to INACTIVE: free its resources, store its attributes, drop its record."""
        if job.R is not None:
            completed = job.result is JobResult.COMPLETED
            self._parts.scheduler.free(job.id, self._parts.clock(), completed=completed)
            self._log.append(job, "free")
        job.t_inactive = self._log.append(job, "clean")
        if job.timer is not None:
            job.timer.cancel()
            job.timer = None
        self._jobs.end(job)
        info = json.dumps(attributes(job), separators=(",", ":"))
        self._parts.store.jobs.set_inactive(job.id, job.t_inactive, int(job.result), job.queue, info)
        del self._jobs.by_id[job.id]
        for callback in self.on_inactive:
            callback(job)
