"""The job manager: the states of RFC 21, driven by events, which are appended to the job's eventlog.

Each of its parts uses the parts before it, and none after it. A part that acts in a turn of the loop, or at a
job's end, registers a callback with `CommitLoop` or `JobLifecycle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs.active_jobs import ActiveJobs
from minicluster.embedded.jobs.admission import Admission
from minicluster.embedded.jobs.allocations import Allocations
from minicluster.embedded.jobs.commit_loop import CommitLoop
from minicluster.embedded.jobs.decisions import Decisions
from minicluster.embedded.jobs.job_log import JobLog
from minicluster.embedded.jobs.job_output import JobOutput
from minicluster.embedded.jobs.job_updates import JobUpdates
from minicluster.embedded.jobs.launch_queue import LaunchQueue
from minicluster.embedded.jobs.lifecycle import JobLifecycle
from minicluster.embedded.jobs.reports import Launcher, Reports
from minicluster.embedded.jobs.watchers import Watchers

if TYPE_CHECKING:
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.parts import Parts


class JobManager:
    """The active jobs, and all parts that change them."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.jobs = ActiveJobs(parts.queues.names())
        self.active = self.jobs.by_id
        self.stats = self.jobs.stats
        self.watchers = Watchers()
        self.commits = CommitLoop(parts.store, self.watchers, parts.loop, parts.log)
        log = JobLog(parts.store.eventlogs, self.commits, parts.clock)
        launches = LaunchQueue()
        self.lifecycle = JobLifecycle(parts, self.jobs, log, launches)
        self.admission = Admission(parts, self.jobs, log, self.commits, self.lifecycle)
        allocations = Allocations(parts, log, self.lifecycle)
        self.decisions = Decisions(parts, self.jobs, log, self.commits, self.lifecycle, launches, allocations)
        self.updates = JobUpdates(parts, self.jobs, log, self.admission, allocations)
        output = JobOutput(parts, self.jobs, self.commits, self.lifecycle)
        self.reports = Reports(self.jobs, log, self.lifecycle, self.decisions, output)
        self._launcher = Launcher(parts, launches, self.commits, self.reports, self.decisions.quotas)

    def job(self, jobid: int, unknown: RpcError, inactive: int) -> ActiveJob:
        """Return an active job. Raises `unknown`, or RpcError numbered `inactive` where it has ended."""
        found = self.active.get(jobid)
        if found is not None:
            return found
        if self.parts.store.jobs.jobspec(jobid) is None:
            raise unknown
        raise RpcError(inactive, "job is inactive")
