"""Requests that wait for the end of jobs: wait, drain, idle."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobFlag, JobResult, JobState
from minicluster.embedded.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]
ANY_JOB = -1


class JobWaits:
    """Answers job-manager.wait, drain and idle."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._waiters: dict[int, asyncio.Future[JSON]] = {}
        self._any_waiters: list[asyncio.Future[JSON]] = []
        self._zombies: dict[int, JSON] = {}
        self._idlers: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._waitables = sum(bool(job.flags & JobFlag.WAITABLE) for job in manager.active.values())
        manager.lifecycle.on_inactive.append(self._inactive)

    def submitted(self, flags: int) -> None:
        """Count a job that can be waited for."""
        self._waitables += bool(flags & JobFlag.WAITABLE)

    async def wait(self, request: RpcRequest) -> JSON:
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
        if not job.flags & JobFlag.WAITABLE:
            raise RpcError(errno.ECHILD, "job was not submitted with FLUX_JOB_WAITABLE")
        self._waiters[jobid] = waiter

    def _refuse_surplus(self) -> None:
        """Refuse the latest waiter where there are more waiters than waitable jobs."""
        if len(self._any_waiters) + len(self._waiters) > self._waitables and self._any_waiters:
            last = self._any_waiters.pop()
            last.set_exception(RpcError(errno.ECHILD, "there are no more waitable jobs"))

    def _inactive(self, job: ActiveJob) -> None:
        if job.flags & JobFlag.WAITABLE:
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
        """Answer the requests that wait for the instance to be idle or empty, if it is."""
        for entry in tuple(self._idlers):
            reached, waiter = entry
            if reached():
                self._idlers.remove(entry)
                if not waiter.done():
                    waiter.set_result(None)

    async def drain(self, _request: RpcRequest) -> JSON:
        """job-manager.drain: until no job is active."""
        await self._until(lambda: not self._manager.active)
        return {}

    async def idle(self, _request: RpcRequest) -> JSON:
        """job-manager.idle: until no job runs and no job waits for the scheduler."""
        await self._until(self._is_idle)
        return {"pending": len(self._manager.active)}

    def _is_idle(self) -> bool:
        return self._manager.parts.scheduler.idle and not self._manager.stats.count(JobState.RUNNING)

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


def _outcome(job: ActiveJob) -> JSON:
    """Return the answer of job-manager.wait for a job, without its id."""
    if job.exception is not None and job.exception[1] == 0:
        kind, _, note = job.exception
        return {"success": False, "errstr": f"Fatal exception type={kind} {note}"}
    return {"success": job.result == JobResult.COMPLETED, "errstr": status_text(job.status or 0)}


def status_text(status: int) -> str:
    """Return Flux's words for a wait status; an empty text for success."""
    if os.WIFSIGNALED(status):
        return f"task(s) {signal.strsignal(os.WTERMSIG(status))}"
    code = os.WEXITSTATUS(status)
    if 128 < code < 128 + signal.NSIG:
        return f"task(s) {signal.strsignal(code - 128)}"
    return f"task(s) exited with exit code {code}" if code else ""
