"""What is done to jobs that are there: cancel, signal, urgency; of one or of many."""

from __future__ import annotations

import asyncio
import errno
import signal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from broker_config.formats.jobid import f58
from minicluster.instance.errors import JobInactive, JobNotFound, RequestRefused
from restful import audit
from restful.errors import HttpProblem
from restful.jobs.views import absent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.instance.port import Instance
    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.identity.principal import Principal
    from restful.jobs.visibility import Visible

T = TypeVar("T")

BATCHES = 4
"""Calls under way at once for one request about many jobs: half of a cluster's threads."""


class ControlOutcome(NamedTuple):
    """What became of one job of many."""

    id: str
    """As the client wrote it."""
    status: int
    """HTTP's status code."""
    detail: str


class Control:
    """Acts on jobs, and records who did."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def cancel(self, principal: Principal, job: Visible, reason: str) -> None:
        """Cancel a job. Raises HttpProblem "ended"."""
        await self._act(principal, job, "job.cancel", lambda i: i.jobs.cancel(job.record.id, reason))

    async def kill(self, principal: Principal, job: Visible, name: str) -> None:
        """Send a signal to every task of a job. Raises HttpProblem "ended", "conflict" where none runs."""
        number = signal.Signals[f"SIG{name}"].value
        await self._act(
            principal, job, "job.kill", lambda i: i.jobs.kill(job.record.id, number), f"signal={name}"
        )

    async def urgency(self, principal: Principal, job: Visible, urgency: int) -> int:
        """Set the urgency of a job that has not begun; return the former one. Raises HttpProblem."""
        return await self._act(
            principal,
            job,
            "job.urgency",
            lambda i: i.jobs.set_urgency(job.record.id, urgency),
            f"urgency={urgency}",
        )

    async def _act(
        self,
        principal: Principal,
        job: Visible,
        action: str,
        function: Callable[[Instance], T],
        detail: str = "",
    ) -> T:
        """Call the instance, and record it. Raises HttpProblem."""
        name = f58(job.record.id)
        if not job.present or not job.record.active:
            raise ended(name)
        try:
            done = await job.cluster.connection.call(function)
        except JobNotFound:
            raise absent(name) from None
        except JobInactive:
            raise ended(name) from None
        except RequestRefused as refusal:
            raise refused(refusal) from refusal
        await self._record(principal, job.cluster, action, [job.record.id], detail)
        return done

    async def cancel_many(
        self,
        principal: Principal,
        cluster: ServedCluster,
        jobs: Sequence[tuple[str, Visible | None]],
        reason: str,
    ) -> list[ControlOutcome]:
        """Cancel jobs; those that are None are not there."""
        wanted = [(text, job.record.id) for text, job in jobs if job is not None and _may_act(job)]
        size = -(-len(wanted) // BATCHES) or 1
        batches = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        cancelling = (partial(_cancelled, batch=batch, reason=reason) for batch in batches)
        calls = [cluster.connection.call(each) for each in cancelling]
        done = {each.id: each for part in await asyncio.gather(*calls) for each in part}
        cancelled = [jobid for text, jobid in wanted if done[text].status == 202]
        if cancelled:
            await self._record(principal, cluster, "job.cancel", cancelled, "")
        return [done.get(text) or _not_tried(text, job) for text, job in jobs]

    async def _record(
        self, principal: Principal, cluster: ServedCluster, action: str, jobids: list[int], detail: str
    ) -> None:
        names = ",".join(f58(each) for each in jobids[:20]) + (
            f" and {len(jobids) - 20} more" if jobids[20:] else ""
        )
        entry = audit.by(principal, action, f"cluster:{cluster.name} job:{names}", detail=detail)
        async with self._context.database.write() as connection:
            await audit.record(connection, entry, self._context.now())


def _may_act(job: Visible) -> bool:
    return job.present and job.record.active


def _cancelled(instance: Instance, *, batch: Sequence[tuple[str, int]], reason: str) -> list[ControlOutcome]:
    return [_cancelled_one(instance, text, jobid, reason) for text, jobid in batch]


def _cancelled_one(instance: Instance, text: str, jobid: int, reason: str) -> ControlOutcome:
    try:
        instance.jobs.cancel(jobid, reason)
    except JobNotFound:
        return _outcome(text, absent(text))
    except JobInactive:
        return _outcome(text, ended(text))
    except RequestRefused as refusal:
        return _outcome(text, refused(refusal))
    return ControlOutcome(text, 202, "")


def _not_tried(text: str, job: Visible | None) -> ControlOutcome:
    return _outcome(text, absent(text) if job is None else ended(text))


def _outcome(text: str, problem: HttpProblem) -> ControlOutcome:
    return ControlOutcome(text, problem.status, problem.detail)


def ended(name: str) -> HttpProblem:
    """Return the answer to an act on a job that has ended."""
    return HttpProblem("ended", f"job {name} has ended: it can be looked at, but no longer changed")


def refused(refusal: RequestRefused) -> HttpProblem:
    """Return the answer to a request that the instance refused: a job's state is no failure of it."""
    if refusal.errnum in (errno.EINVAL, errno.EBUSY, errno.EPERM, errno.ENOENT, errno.EEXIST):
        return HttpProblem("conflict", refusal.text)
    return HttpProblem("instance-refused", refusal.text)
