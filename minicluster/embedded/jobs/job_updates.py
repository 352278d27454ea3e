"""Changes of a submitted job's queue and time limit, by the rules of Flux's job manager and in its words."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobspec, resource_set
from broker_config.formats.job_states import JobState
from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs.admission import check_feasible, checked

if TYPE_CHECKING:
    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.admission import Admission
    from minicluster.embedded.jobs.allocations import Allocations
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.ports import JSON

SYSTEM = "attributes.system"
QUEUE, DURATION, CONSTRAINTS = f"{SYSTEM}.queue", f"{SYSTEM}.duration", f"{SYSTEM}.constraints"


class JobUpdates:
    """Changes jobspecs of active jobs; each change is the event `jobspec-update`."""

    def __init__(
        self, parts: Parts, jobs: ActiveJobs, log: JobLog, admission: Admission, allocations: Allocations
    ) -> None:
        self._parts = parts
        self._jobs = jobs
        self._log = log
        self._admission = admission
        self._allocations = allocations

    def update(self, job: ActiveJob, updates: JSON) -> None:
        """Set values in the job's jobspec by their paths, all or none of them. Raises RpcError."""
        spec = json.loads(self._parts.store.jobs.jobspec(job.id) or "{}")
        changes = dict(updates)
        for path, value in updates.items():
            changes |= self._admitted(job, spec, path, value)
        for path, value in changes.items():
            jobspec.set_at(spec, path.split("."), value)
        parsed = checked(spec)
        if QUEUE in changes:
            check_feasible(self._parts.scheduler.pool, parsed)
        running = job.state in JobState.RUNNING and DURATION in changes
        expiration = self._expiration(job, parsed.duration) if running else 0.0
        self._parts.store.jobs.set_jobspec(job.id, json.dumps(spec, separators=(",", ":")))
        self._log.append(job, "jobspec-update", changes)
        self._apply(job, parsed)
        if running:
            self._allocations.limit(job, expiration)
        if job.state == JobState.SCHED:
            self._admission.updated(job)

    def _admitted(self, job: ActiveJob, spec: JSON, path: str, value: Any) -> JSON:
        """Return what else changes with a value. Raises RpcError where it must not change."""
        if path == QUEUE:
            return {CONSTRAINTS: self._constraints(job, spec, value)}
        if path != DURATION:
            raise RpcError(errno.EINVAL, f"update of {path} not supported")
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise RpcError(errno.EINVAL, "plugin args unpack failed")
        if value < 0:
            raise RpcError(errno.EINVAL, "duration must not be negative")
        return {}

    def _constraints(self, job: ActiveJob, spec: JSON, name: Any) -> JSON:
        """Return the constraints of a job in the queue to which it is moved. Raises RpcError."""
        if not isinstance(name, str):
            raise RpcError(errno.EINVAL, "plugin args unpack failed")
        if job.state in JobState.RUNNING:
            raise RpcError(errno.EINVAL, "update of queue for running job not supported")
        if job.queue == name:
            raise RpcError(errno.EINVAL, f"job queue is already set to {name}")
        found, current = self._parts.queues[name], self._parts.queues[job.queue]
        if (jobspec.system_of(spec).get("constraints") or {}) != current.constraints:
            what = "job appears to have non-queue constraints, unable to update queue to"
            raise RpcError(errno.EINVAL, f"{what} {job.queue}")
        return found.constraints

    def _expiration(self, job: ActiveJob, duration: float) -> float:
        """Return when a running job ends by another time limit, 0 for none. Raises RpcError."""
        if not duration:
            return 0.0
        expiration = resource_set.times_of(job.R).starttime + duration
        if expiration <= self._parts.clock():
            raise RpcError(errno.EINVAL, "requested duration places job expiration in the past")
        return expiration

    def _apply(self, job: ActiveJob, parsed: jobspec.Parsed) -> None:
        self._jobs.stats.leave(job)
        job.queue, job.duration, job.resources = parsed.queue, parsed.duration, parsed.resources
        self._jobs.stats.enter(job, job.state)
