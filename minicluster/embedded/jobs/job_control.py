"""The requests that control jobs: submit, raise, kill, urgency, update, resize."""

from __future__ import annotations

import asyncio
import errno
import signal
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobState
from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs.admission import check_feasible, checked
from queue_policies.errors import OrderRefused

if TYPE_CHECKING:
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.jobs.job_waits import JobWaits
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]
_SECTIONS = ("attributes", "resources", "tasks")
"""Of a jobspec: where paths of updates begin."""


class JobControl:
    """Answers the requests of job-manager.* about jobs, and those of submission, feasibility and resizing."""

    def __init__(self, manager: JobManager, waits: JobWaits) -> None:
        self._manager = manager
        self._parts = manager.parts
        self._waits = waits

    def submit(self, request: RpcRequest) -> JSON:
        """job-ingest.submit."""
        spec, payload = request.need("jobspec", dict), request.payload
        urgency, flags = payload.get("urgency", 16), payload.get("flags", 0)
        if not isinstance(urgency, int) or not isinstance(flags, int):
            raise RpcError(errno.EPROTO, "error decoding job request: urgency and flags are integers")
        jobid = self._manager.admission.submit(spec, urgency, flags)
        self._waits.submitted(flags)
        return {"id": jobid}

    def feasible(self, request: RpcRequest) -> JSON:
        """feasibility.check: whether a job could ever run here."""
        check_feasible(self._parts.scheduler.pool, checked(dict(request.need("jobspec", dict))))
        return {}

    def _job(self, request: RpcRequest, errnum: int, unknown: str = "unknown job id") -> ActiveJob:
        return self._manager.job(request.need("id", int), RpcError(errnum, unknown), errnum)

    def raise_(self, request: RpcRequest) -> JSON:
        """job-manager.raise."""
        severity, kind, note = _exception(request)
        self._manager.lifecycle.raise_exception(self._job(request, errno.ENOENT), kind, severity, note)
        return {}

    def raiseall(self, request: RpcRequest) -> JSON:
        """job-manager.raiseall: on all jobs in some states."""
        severity, kind, note = _exception(request)
        states = JobState(request.need("states", int))
        jobs = [job for job in self._manager.active.values() if job.state in states]
        for job in jobs if not request.payload.get("dry_run", False) else ():
            if job.id in self._manager.active:
                self._manager.lifecycle.raise_exception(job, kind, severity, note)
        return {"count": len(jobs), "errors": 0}

    def kill(self, request: RpcRequest) -> JSON:
        """job-manager.kill: a signal to the tasks of a running job."""
        signum = request.need("signum", int)
        if not 0 < signum < signal.NSIG:
            raise RpcError(errno.EINVAL, "Invalid signal number")
        job = self._job(request, errno.EINVAL)
        if job.state not in JobState.RUNNING:
            raise RpcError(errno.EINVAL, "job is not running")
        self._parts.executor.signal(job.id, signum)
        return {}

    def urgency(self, request: RpcRequest) -> JSON:
        """job-manager.urgency: 0 holds, 31 expedites."""
        urgency = request.need("urgency", int)
        if not 0 <= urgency <= 31:
            raise RpcError(errno.EINVAL, "urgency value is out of range")
        job = self._job(request, errno.EINVAL, "unknown job")
        if job.R is not None:
            raise RpcError(errno.EINVAL, "urgency cannot be changed once resources are allocated")
        old = job.urgency
        self._manager.admission.set_urgency(job, urgency)
        return {"old_urgency": old}

    def update(self, request: RpcRequest) -> JSON:
        """job-manager.update: another queue or time limit."""
        jobid, updates = request.need("id", int), request.need("updates", dict)
        if not all(path.partition(".")[0] in _SECTIONS for path in updates):
            raise RpcError(errno.EINVAL, "one or more jobspec updates are invalid")
        job = self._manager.job(jobid, RpcError(errno.ENOENT, "unknown job id"), errno.EINVAL)
        self._manager.updates.update(job, updates)
        return {}

    async def resize(self, request: RpcRequest) -> JSON:
        """minicluster-sched.resize: order a running job to have a number of workers, as a policy would.

        Answered when the order is done, at once if `wait` is false: `before`, the number until now.
        """
        workers, wait = request.need("workers", int), request.need("wait", bool)
        job = self._job(request, errno.ENOENT)
        if job.state != JobState.RUN:
            raise RpcError(errno.EINVAL, "is not running")
        before, ended = job.ntasks, asyncio.get_running_loop().create_future()

        def end(failure: str) -> None:
            if not ended.done():  # who asked may have hung up
                ended.set_result(failure)

        try:
            self._manager.decisions.resize(job.id, workers, end)
        except OrderRefused as refusal:
            raise RpcError(errno.EINVAL, str(refusal)) from refusal
        failure = await ended if wait else ""
        if failure:
            raise RpcError(errno.ECANCELED, failure)
        return {"before": before}


def _exception(request: RpcRequest) -> tuple[int, str, str]:
    severity, kind = request.need("severity", int), request.need("type", str)
    if not 0 <= severity <= 7:
        raise RpcError(errno.EPROTO, "invalid exception severity")
    if not kind or any(character.isspace() for character in kind):
        raise RpcError(errno.EPROTO, "invalid exception type")
    return severity, kind, request.payload.get("note") or ""
