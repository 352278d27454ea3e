"""Stand-ins over the port of an instance: each has the place of a job that runs in an instance of its own.

A stand-in is a copy of its job under a new id, as a restart makes one: it waits for the job's end, and
then the job is canceled. So both never run, wherever this process ends. It takes no resources, prints what is
written into its spool, and ends as the job elsewhere did. It has the job's queue, name, urgency and own
attributes.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from typing import TYPE_CHECKING, Any, TypeVar

from broker_config.formats.jobid import f58
from burst.errors import LeadAway, StandInRefused
from burst.leads.instance_lead import instance_id
from burst.leads.restartable_jobs import RestartableSlotJobs
from burst.leads.stand_in_jobs import StandInJobs
from burst.leads.standing_jobs import StandingJobs
from burst.lifecycle.isolation import StandIn
from burst.lifecycle.records import BEGUN_ANEW, LOST
from minicluster.instance.errors import InstanceError, JobInactive, JobNotFound
from minicluster.instance.records import JobState
from minicluster.save_restore.restarts import restart
from minicluster.stand_in import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.instance.port import Instance

T = TypeVar("T")
DELIVERY_SECONDS = 10.0
"""How long one call waits until a stand-in has delivered all: after it the call is to be repeated."""
_POLL_SECONDS = 0.1


class StandIns:
    """See `burst.leads.lead.StandInLead`. `home` is the queue of jobs that run on own nodes.

    Methods raise LeadAway, and what the protocol has.
    """

    def __init__(self, instance: Instance, home: str = "default") -> None:
        self._instance = instance
        self._home = home
        self._jobs = StandingJobs(instance)

    async def identity(self) -> str:
        """Return what tells the lead's instance from one that takes its place."""
        return await _asked(instance_id, self._instance)

    async def stand_in(self, label: str, job: int) -> None:
        """Have a stand-in take a pending job's place."""
        await _asked(self._stand_in, label, job)

    async def standing(self, label: str) -> StandIn | None:
        """Return the latest stand-in of a burst. One that was killed gets its successor before."""
        return await _asked(self._standing, label)

    async def write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        """Append to a stream what begins at a byte; return what it has then."""
        return await _asked(self._write, label, stream, offset, data)

    async def finish(self, label: str, status: int, digest: str, note: str) -> None:
        """Let the stand-in end; return once it has. One whose original is still there is withdrawn."""
        request = {"label": label, "status": status, "digest": digest, "note": note}
        await _asked(self._finish, label, request)

    async def jobspec(self, job: int) -> Mapping[str, Any]:
        """Return a job's jobspec as it was submitted."""
        return await _asked(self._instance.jobs.jobspec, job)

    async def begin_anew(self, standing: int, job: int, reason: str) -> str:
        """Have a job begin anew here in the place of its stand-in; return what became of it, in words.

        One that must not run twice is lost: its stand-in is left as it is.
        """
        return await _asked(self._begin_anew, standing, job, reason)

    # -- in a thread -------------------------------------------------------------------------------------

    def _stand_in(self, label: str, job: int) -> None:
        found = self._jobs.find(label) or self._jobs.unnoted(label, job)
        if found is not None and not found.waits:
            self._jobs.replaced(label, found)
            return
        try:
            state = self._instance.jobs.get(job).state
        except JobNotFound:
            raise StandInRefused(f"the instance does not know {f58(job)}") from None
        if state not in JobState.PENDING:
            raise StandInRefused(f"{f58(job)} has started here, or has ended")
        jobs = StandInJobs(self._instance, label, job)
        outcome = restart(jobs, [job], f"it runs elsewhere, as burst {label}", jobs.close_in)
        for old, why in outcome.lost:
            if old == job:
                raise StandInRefused(why)

    def _standing(self, label: str) -> StandIn | None:
        found = self._jobs.find(label)
        if found is None:
            return None
        found = self._jobs.replaced(label, found)
        is_over = found.is_done or found.is_canceled
        received = found.record.received
        if is_over and received:
            self._jobs.spool(topics.CLEAR, {"label": label})
            received = {}
        if found.is_needless:
            with contextlib.suppress(JobInactive):
                self._instance.jobs.cancel(found.job.id, "its original has not made room for it")
        return StandIn(found.job.id, found.is_running, is_over, found.is_canceled, received)

    def _write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        received = offset
        for begin in range(0, max(len(data), 1), topics.MAX_WRITE_BYTES):
            piece = data[begin : begin + topics.MAX_WRITE_BYTES]
            text = base64.b64encode(piece).decode()
            request = {"label": label, "stream": stream, "offset": offset + begin, "data": text}
            received = int(self._jobs.spool(topics.WRITE, request)["received"])
            if received < offset + begin + len(piece):
                break
        return received

    def _finish(self, label: str, request: dict[str, Any]) -> None:
        self._jobs.spool(topics.END, request)
        end = time.monotonic() + DELIVERY_SECONDS
        while True:
            found = self._jobs.find(label)
            if found is not None and found.waits:
                with contextlib.suppress(JobInactive):
                    self._instance.jobs.cancel(found.job.id, f"burst {label} came to nothing")
            standing = self._standing(label)
            if standing is None or standing.is_over:
                return
            if time.monotonic() > end:
                raise LeadAway(f"the stand-in {f58(standing.job)} of burst {label} has not delivered all yet")
            time.sleep(_POLL_SECONDS)

    def _begin_anew(self, standing: int, job: int, reason: str) -> str:
        outcome = restart(_Originals(self._instance, self._home, standing, job), [standing], reason)
        for old, new in outcome.restarted:
            if old == standing:
                return f"{BEGUN_ANEW} as {f58(new)}"
        lost = dict(outcome.lost).get(standing)
        return f"{LOST}: {lost}" if lost else "its stand-in has ended"


class _Originals(RestartableSlotJobs):
    """Jobs among which a stand-in is copied as the job in whose place it is."""

    def __init__(self, instance: Instance, home: str, standing: int, job: int) -> None:
        super().__init__(instance, home)
        self._pair = (standing, job)

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return the jobspec of a job, of the stand-in the original's."""
        standing, job = self._pair
        return super().jobspec(job if jobid == standing else jobid)


async def _asked(function: Callable[..., T], *arguments: object) -> T:
    """Return what a call to the instance returns. Raises LeadAway."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except InstanceError as error:
        raise LeadAway(str(error)) from error
