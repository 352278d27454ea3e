"""A job's way from its submission to the scheduler: DEPEND, PRIORITY and SCHED of RFC 21."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

from broker_config.formats import jobspec
from broker_config.formats.errors import JobspecError
from broker_config.formats.job_states import JobState
from broker_config.formats.jobid import f58
from minicluster.embedded import log
from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs import alloc_bypass, task_shapes
from minicluster.embedded.jobs.dependencies import Dependencies, DependencyTarget
from minicluster.embedded.jobs.job import FLAGS, ActiveJob, priority_of
from queue_policies.errors import TaskAttributeError
from queue_policies.nodes.feasibility import infeasible
from queue_policies.placement.attributes import shape_of

if TYPE_CHECKING:
    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.ports import JSON
    from queue_policies.nodes.pool import Pool


def checked(spec: JSON) -> jobspec.Parsed:
    """Parse a submitted jobspec. Raises RpcError (EPERM, as Flux's validator) with the reason."""
    try:
        parsed = jobspec.parse(spec)
        return task_shapes.with_shape(parsed, spec, shape_of)
    except (JobspecError, TaskAttributeError) as error:
        raise RpcError(errno.EPERM, str(error)) from None


def check_feasible(pool: Pool, parsed: jobspec.Parsed, errnum: int = errno.EINVAL) -> None:
    """Raise RpcError with the reason, if the job could never run on the nodes of the pool."""
    reason = infeasible(pool, parsed.resources)
    if reason is not None:
        raise RpcError(errnum, reason)


def _validates_feasibility(config: JSON) -> bool:
    """Return whether a job that can never run is refused at once; else it fails when it is to start."""
    plugins = config.get("ingest", {}).get("validator", {}).get("plugins", [])
    return "feasibility" in plugins


class Admission:
    """Accepts submitted jobs, and passes each to the scheduler once it may start."""

    def __init__(
        self, parts: Parts, jobs: ActiveJobs, log: JobLog, commits: CommitLoop, lifecycle: JobLifecycle
    ) -> None:
        self._parts = parts
        self._jobs = jobs
        self._log = log
        self._commits = commits
        self._lifecycle = lifecycle
        self._validates = _validates_feasibility(parts.config)
        self._bypasses = alloc_bypass.is_loaded(parts.config)
        self._dependencies = Dependencies(self._target, self._satisfied, self._impossible, parts.call_at)
        lifecycle.on_inactive.append(self._dependencies.ended)

    def submit(self, spec: JSON, urgency: int, flags: int) -> int:
        """Check and store a job, and return its id. Raises RpcError."""
        parsed = self._admit(spec, urgency, flags)
        brought = alloc_bypass.brought(spec) if self._bypasses else None
        now, userid = self._parts.clock(), self._parts.owner
        job = ActiveJob.of(self._parts.ids.next(now), userid, urgency, flags, parsed)
        if brought is not None:
            job.bring(brought)
        wanted = self._dependencies.describe(parsed.dependencies)
        self._parts.store.jobs.add(job.id, userid, json.dumps(spec, separators=(",", ":")))
        self._jobs.stats.enter(job, JobState.NEW)
        context = {"userid": userid, "urgency": urgency, "flags": flags, "version": 1}
        job.t_submit = self._log.append(job, "submit", context, jobspec=jobspec.redacted(spec))
        if brought is not None:
            self._log.append(job, "set-flags", {"flags": [alloc_bypass.FLAG]})
        for description, satisfied in wanted:
            self._log.append(job, "dependency-add", {"description": description})
            if satisfied:
                self._log.append(job, "dependency-remove", {"description": description})
        job.t_depend = self._log.append(job, "validate")
        self._keep(job)
        job.dependencies = [description for description, satisfied in wanted if not satisfied] or None
        self._jobs.move(job, JobState.DEPEND)
        self._wait(job)
        return job.id

    def _admit(self, spec: JSON, urgency: int, flags: int) -> jobspec.Parsed:
        if not 0 <= urgency <= 31:
            raise RpcError(errno.EINVAL, "urgency range is [0:31]")
        if flags & ~FLAGS:
            raise RpcError(errno.EPROTO, "invalid job flags")
        if isinstance(spec, dict):
            self._parts.queues.complete(spec)
        parsed = checked(spec)
        self._parts.queues[parsed.queue]  # refuses one that is unknown
        if self._validates:
            check_feasible(self._parts.scheduler.pool, parsed, errno.EOVERFLOW)
        return parsed

    def _keep(self, job: ActiveJob) -> None:
        """Store a new job. Raises RpcError, which refuses the submission, where it cannot be written."""
        if not self._commits.write():
            self._commits.withdraw(job.id)
            self._jobs.stats.leave(job)
            raise RpcError(errno.ENOSPC, self._commits.trouble or "")
        self._jobs.by_id[job.id] = job

    def _wait(self, job: ActiveJob) -> None:
        for description in tuple(job.dependencies or ()):
            self._dependencies.wait(job.id, description)
        self._check_depend(job)

    def resume(self, job: ActiveJob) -> None:
        """Continue with a waiting job that was loaded from the store."""
        self._wait(job)
        if job.state in (JobState.PRIORITY, JobState.SCHED):
            self._prioritize(job)

    def _check_depend(self, job: ActiveJob) -> None:
        if job.state != JobState.DEPEND or job.dependencies:
            return
        job.t_priority = self._log.append(job, "depend")
        self._jobs.move(job, JobState.PRIORITY)
        self._prioritize(job)

    def _prioritize(self, job: ActiveJob) -> None:
        """Move a job from PRIORITY to SCHED, or compute its priority anew after the urgency changed."""
        priority = priority_of(job.urgency)
        if priority != job.priority:
            job.priority = priority
            self._log.append(job, "priority", {"priority": priority})
        if job.state == JobState.PRIORITY:
            self._jobs.move(job, JobState.SCHED)
            job.t_sched = self._parts.clock()
        self.enqueue(job)

    def set_urgency(self, job: ActiveJob, urgency: int) -> None:
        """Change the urgency of a job that waits, and so its priority."""
        job.urgency = urgency
        self._log.append(job, "urgency", {"userid": self._parts.owner, "urgency": urgency})
        if job.state == JobState.SCHED:
            self._prioritize(job)

    def updated(self, job: ActiveJob) -> None:
        """Pass a job to the scheduler anew; as with Flux, its priority is logged once more."""
        self._log.append(job, "priority", {"priority": job.priority})
        self.enqueue(job)

    def enqueue(self, job: ActiveJob) -> None:
        """Pass a job to the scheduler, unless it is held or its queue is stopped."""
        if job.brought is not None:
            if job.state == JobState.SCHED:
                self._jobs.bypassing.append(job)
                self._commits.schedule()
            return
        self._parts.scheduler.dequeue(job.id)
        if job.state != JobState.SCHED or not job.priority or not self._parts.queues[job.queue].started:
            return
        reason = self._parts.scheduler.infeasible(job)
        if reason is not None and job.restored:
            self._parts.log(log.WARNING, f"job {f58(job.id)} is kept, it does not fit any more: {reason}")
            self._log.annotate(job, {"sched": {"reason_pending": reason}})
            return
        if reason is not None:
            self._lifecycle.raise_exception(job, "alloc", 0, reason)
            return
        self._parts.scheduler.enqueue(job)
        self._commits.schedule()

    # -- dependencies ----------------------------------------------------------------------------------

    def _target(self, jobid: int) -> DependencyTarget | None:
        job = self._jobs.by_id.get(jobid)
        if job is not None:
            return DependencyTarget.of(job)
        info = self._parts.store.jobs.info(jobid)
        return DependencyTarget.ended_as(json.loads(info)) if info else None

    def _satisfied(self, jobid: int, description: str) -> None:
        job = self._jobs.by_id.get(jobid)
        if job is None or job.state != JobState.DEPEND or description not in (job.dependencies or ()):
            return
        job.dependencies = [each for each in job.dependencies or () if each != description] or None
        self._log.append(job, "dependency-remove", {"description": description})
        self._check_depend(job)

    def _impossible(self, jobid: int, note: str) -> None:
        job = self._jobs.by_id.get(jobid)
        if job is not None and job.state == JobState.DEPEND:
            self._lifecycle.raise_exception(job, "dependency", 0, note)
