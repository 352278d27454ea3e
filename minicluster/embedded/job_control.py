"""What steers jobs and queues: submit, raise, kill, urgency, wait, drain, idle, queue start and stop."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from typing import TYPE_CHECKING, Any

from minicluster.embedded import jobspec
from minicluster.embedded.errors import RpcError
from minicluster.embedded.job import WAITABLE, Job, Result, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.job_manager import JobManager
    from minicluster.embedded.services import Request

JSON = dict[str, Any]
ANY_JOB = -1


class JobControl:
    """Answers job-manager.* and job-ingest.submit."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._parts = manager.parts
        self._waiters: dict[int, asyncio.Future[JSON]] = {}
        self._any_waiters: list[asyncio.Future[JSON]] = []
        self._zombies: dict[int, JSON] = {}
        self._idlers: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._waitables = sum(bool(job.flags & WAITABLE) for job in manager.active.values())
        manager.on_inactive.append(self._inactive)

    def submit(self, request: Request) -> JSON:
        """job-ingest.submit."""
        spec, payload = request.need("jobspec", dict), request.payload
        urgency, flags = payload.get("urgency", 16), payload.get("flags", 0)
        if not isinstance(urgency, int) or not isinstance(flags, int):
            raise RpcError(errno.EPROTO, "error decoding job request: urgency and flags are integers")
        jobid = self._manager.submit(spec, urgency, flags)
        self._waitables += bool(flags & WAITABLE)
        return {"id": jobid}

    def feasible(self, request: Request) -> JSON:
        """feasibility.check: whether a job could ever run here."""
        parsed = jobspec.parse(dict(request.need("jobspec", dict)))
        reason = self._parts.scheduler.pool.infeasible(parsed.resources)
        if reason is not None:
            raise RpcError(errno.EINVAL, reason)
        return {}

    # -- one job ---------------------------------------------------------------------------------------

    def _job(self, request: Request, errnum: int, unknown: str = "unknown job id") -> Job:
        jobid = request.need("id", int)
        job = self._manager.active.get(jobid)
        if job is None:
            known = self._parts.store.jobspec(jobid) is not None
            raise RpcError(errnum, "job is inactive" if known else unknown)
        return job

    def raise_(self, request: Request) -> JSON:
        """job-manager.raise."""
        severity, kind, note = _exception(request)
        self._manager.raise_exception(self._job(request, errno.ENOENT), kind, severity, note)
        return {}

    def raiseall(self, request: Request) -> JSON:
        """job-manager.raiseall: on all jobs in some states."""
        severity, kind, note = _exception(request)
        states = State(request.need("states", int))
        jobs = [job for job in self._manager.active.values() if job.state in states]
        for job in jobs if not request.payload.get("dry_run", False) else ():
            if job.id in self._manager.active:
                self._manager.raise_exception(job, kind, severity, note)
        return {"count": len(jobs), "errors": 0}

    def kill(self, request: Request) -> JSON:
        """job-manager.kill: a signal to the tasks of a running job."""
        signum = request.need("signum", int)
        if not 0 < signum < signal.NSIG:
            raise RpcError(errno.EINVAL, "Invalid signal number")
        job = self._job(request, errno.EINVAL)
        if job.state not in State.RUNNING:
            raise RpcError(errno.EINVAL, "job is not running")
        self._parts.executor.signal(job.id, signum)
        return {}

    def urgency(self, request: Request) -> JSON:
        """job-manager.urgency: 0 holds, 31 expedites."""
        urgency = request.need("urgency", int)
        if not 0 <= urgency <= 31:
            raise RpcError(errno.EINVAL, "urgency value is out of range")
        job = self._job(request, errno.EINVAL, "unknown job")
        if job.R is not None:
            raise RpcError(errno.EINVAL, "urgency cannot be changed once resources are allocated")
        old = job.urgency
        self._manager.set_urgency(job, urgency)
        return {"old_urgency": old}

    # -- waiting ---------------------------------------------------------------------------------------

    async def wait(self, request: Request) -> JSON:
        """job-manager.wait: until a waitable job ended (id -1: any of them)."""
        jobid = request.need("id", int)
        if jobid == ANY_JOB and self._zombies:
            return self._zombies.pop(next(iter(self._zombies)))
        if jobid in self._zombies:
            return self._zombies.pop(jobid)
        waiter: asyncio.Future[JSON] = asyncio.get_running_loop().create_future()
        if jobid == ANY_JOB:
            self._any_waiters.append(waiter)
        else:
            self._add_waiter(jobid, waiter)
        self._refuse_surplus()
        try:
            return await waiter
        finally:
            if waiter in self._any_waiters:
                self._any_waiters.remove(waiter)
            if self._waiters.get(jobid) is waiter:
                del self._waiters[jobid]

    def _add_waiter(self, jobid: int, waiter: asyncio.Future[JSON]) -> None:
        job = self._manager.active.get(jobid)
        if job is None:
            raise RpcError(errno.ECHILD, "invalid job id, or job may be inactive and not waitable")
        if jobid in self._waiters:
            raise RpcError(errno.ECHILD, "job id already has a waiter")
        if not job.flags & WAITABLE:
            raise RpcError(errno.ECHILD, "job was not submitted with FLUX_JOB_WAITABLE")
        self._waiters[jobid] = waiter

    def _refuse_surplus(self) -> None:
        """There must not be more waiters than jobs that they can wait for."""
        if len(self._any_waiters) + len(self._waiters) > self._waitables and self._any_waiters:
            last = self._any_waiters.pop()
            last.set_exception(RpcError(errno.ECHILD, "there are no more waitable jobs"))

    def _inactive(self, job: Job) -> None:
        if job.flags & WAITABLE:
            self._waitables -= 1
            answer = {"id": job.id, **_outcome(job)}
            waiter = self._waiters.pop(job.id, None)
            if waiter is None and self._any_waiters:
                waiter = self._any_waiters.pop(0)
            if waiter is None:
                self._zombies[job.id] = answer
            elif not waiter.done():
                waiter.set_result(answer)
        self.check_idle()

    def check_idle(self) -> None:
        """Answer those who wait for the instance to be idle or empty."""
        for entry in tuple(self._idlers):
            reached, waiter = entry
            if reached():
                self._idlers.remove(entry)
                if not waiter.done():
                    waiter.set_result(None)

    async def drain(self, _request: Request) -> JSON:
        """job-manager.drain: until no job is active."""
        await self._until(lambda: not self._manager.active)
        return {}

    async def idle(self, _request: Request) -> JSON:
        """job-manager.idle: until nothing runs and nothing waits for the scheduler."""
        await self._until(self._is_idle)
        return {"pending": len(self._manager.active)}

    def _is_idle(self) -> bool:
        return self._parts.scheduler.idle and not self._manager.stats.count(State.RUNNING)

    async def _until(self, reached: Callable[[], bool]) -> None:
        if reached():
            return
        entry = (reached, asyncio.get_running_loop().create_future())
        self._idlers.append(entry)
        try:
            await entry[1]
        finally:
            if entry in self._idlers:
                self._idlers.remove(entry)

    # -- queues ----------------------------------------------------------------------------------------

    def queue_list(self, _request: Request) -> JSON:
        """job-manager.queue-list: the named queues."""
        return {"queues": self._parts.queues.names()}

    def queue_status(self, request: Request) -> JSON:
        """job-manager.queue-status."""
        status = self._parts.queues[request.payload.get("name")].status()
        trouble = self._manager.turns.trouble
        return status if trouble is None else {**status, "start": False, "stop_reason": trouble}

    def queue_start(self, request: Request) -> JSON:
        """job-manager.queue-start: whether jobs may start."""
        start, reason = request.need("start", bool), request.payload.get("reason")
        queues = self._parts.queues
        for queue in queues.choose(request.payload.get("name"), bool(request.payload.get("all", False))):
            queue.stopped = None if start else reason or ""
        self._parts.store.set_meta("queues", queues.save())
        self._manager.turns.soon()
        for job in tuple(self._manager.active.values()):
            if job.state == State.SCHED:
                self._manager.enqueue(job)
        self.check_idle()
        return {}


def _exception(request: Request) -> tuple[int, str, str]:
    severity, kind = request.need("severity", int), request.need("type", str)
    if not 0 <= severity <= 7:
        raise RpcError(errno.EPROTO, "invalid exception severity")
    if not kind or any(character.isspace() for character in kind):
        raise RpcError(errno.EPROTO, "invalid exception type")
    return severity, kind, request.payload.get("note") or ""


def _outcome(job: Job) -> JSON:
    """What job-manager.wait tells of a job."""
    if job.exception is not None and job.exception[1] == 0:
        kind, _, note = job.exception
        return {"success": False, "errstr": f"Fatal exception type={kind} {note}"}
    return {"success": job.result == Result.COMPLETED, "errstr": status_text(job.status or 0)}


def status_text(status: int) -> str:
    """A wait status in Flux's words; nothing for success."""
    if os.WIFSIGNALED(status):
        return f"task(s) {signal.strsignal(os.WTERMSIG(status))}"
    code = os.WEXITSTATUS(status)
    if 128 < code < 128 + signal.NSIG:
        return f"task(s) {signal.strsignal(code - 128)}"
    return f"task(s) exited with exit code {code}" if code else ""
