"""Submits jobs once each, however often a client asks and whenever this process dies.

1. One transaction writes the request's row, which is its reservation too, and the audit log's entry.
2. The instance gets the job, with the mark that names the row.
3. One transaction notes the job in the row, and the job itself.

After a crash between 1 and 3 the row is without a job. The next use of the key, or this service when it
reaches the instance again, looks for the mark among the instance's jobs: one that has it is taken over.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from minicluster.broker_link.errors import reason
from minicluster.instance.errors import InstanceError, InstanceGone, SubmitRefused
from minicluster.instance.records import Job, Resubmission
from restful import audit
from restful.clusters.connection import away
from restful.clusters.ownership import Submits
from restful.clusters.projection import Owned, new_record, projected
from restful.errors import FieldError, HttpProblem
from restful.jobs import claims, marked_jobs, seal
from restful.jobs.request_opener import RequestOpener
from restful.jobs.submit_order import Submitted
from restful.store import jobs, request_keys
from restful.store.jobs import JobRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.jobs.submit_order import SubmitOrder
    from restful.settings import JobLimits
    from restful.store.request_keys import RequestRow

    Failure = HttpProblem | InstanceError

TOGETHER = 25
"""Jobs of a user that an instance gets at once: others' jobs are not long in line behind them."""
_LATE = "did not answer in time; send the request again with the same Idempotency-Key"


class BegunSubmit(NamedTuple):
    """An order, and the row of its request, which has no job as yet."""

    order: SubmitOrder
    row: RequestRow


class NotedJob(NamedTuple):
    """The row of a request, and the record of its job."""

    row: RequestRow
    record: JobRecord


class Submitter:
    """Submits for all users."""

    def __init__(self, context: Context, limits: JobLimits) -> None:
        self._context = context
        self._opener = RequestOpener(context, limits)
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(self, order: SubmitOrder) -> Submitted:
        """Submit a job, or return the one of an earlier request. Raises HttpProblem, DatabaseError."""
        [outcome] = await self.submit_many([order])
        if isinstance(outcome, HttpProblem):
            raise outcome
        return outcome

    async def submit_many(self, orders: Sequence[SubmitOrder]) -> list[Submitted | HttpProblem]:
        """Submit a user's jobs to one cluster, or return those of earlier requests; each has its outcome.

        The quotas have room for all of them, or none is submitted. Raises HttpProblem, DatabaseError.
        """
        rows = await self._opener.open(orders)
        late = away(orders[0].cluster.name, _LATE, 1)
        found = [late if row.job is None else Submitted(row.job, replayed=True) for row in rows]
        left = {
            number: BegunSubmit(order, row)
            for number, (order, row) in enumerate(zip(orders, rows, strict=True))
            if row.job is None
        }
        if left:
            claimed = [each.row for each in left.values()]
            task = asyncio.ensure_future(claims.keeping(self._context, claimed, self._go_on(left, found)))
            self._tasks.add(task)
            task.add_done_callback(self._done)
            await asyncio.wait([task], timeout=self._context.limits.call_seconds)
            if task.done():
                task.result()
        return list(found)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who stopped waiting asks again

    async def _go_on(self, left: Mapping[int, BegunSubmit], found: list[Submitted | HttpProblem]) -> None:
        """Submit what has no job, some at a time, and note what came of each."""
        numbers, cluster = tuple(left), next(iter(left.values())).order.cluster
        try:
            for start in range(0, len(numbers), TOGETHER):
                some = numbers[start : start + TOGETHER]
                outcomes = await self._together(cluster, [left[each] for each in some])
                for number, outcome in zip(some, outcomes, strict=True):
                    found[number] = outcome
        except Exception:
            cluster.doubtful = True
            raise
        finally:
            _let_go(cluster, left.values())

    async def _together(
        self, cluster: ServedCluster, begun: Sequence[BegunSubmit]
    ) -> list[Submitted | HttpProblem]:
        """Submit, or take over what earlier attempts have submitted, and write down what came of it."""
        now = self._context.now()
        noted: list[NotedJob] = []
        failed: dict[str, Failure] = {}
        outcomes: dict[str, Submitted | HttpProblem] = {}
        for each, answer in zip(begun, await self._answers(cluster, begun), strict=True):
            if isinstance(answer, Exception):
                failed[each.row.id] = answer
                outcomes[each.row.id] = _problem(cluster, answer)
                continue
            jobid = answer.id if isinstance(answer, Job) else answer
            record = _record(each, jobid, now)
            if isinstance(answer, Job):
                record = projected(record, answer, own=cluster.own)
            noted.append(NotedJob(each.row, record))
            outcomes[each.row.id] = Submitted(jobid, replayed=isinstance(answer, Job))
        if noted:
            await note(self._context, cluster, noted)
        if failed:
            await self._failed(cluster, [each for each in begun if each.row.id in failed], failed)
        _let_go(cluster, begun)
        return [outcomes[each.row.id] for each in begun]

    async def _answers(
        self, cluster: ServedCluster, begun: Sequence[BegunSubmit]
    ) -> Sequence[int | Job | Failure]:
        """Return the job of each request, submitted now or found by its mark, or why it has none.

        HttpProblem: it was not sent.
        """
        sealing, tried = self._context.sealing, [each.row for each in begun if not each.row.claimer]
        try:
            taken = await _jobs_of(self._context, cluster, tried) if tried else {}
            new = [each for each in begun if each.row.id not in taken]
            marked = [
                Resubmission(
                    sealing.marked(
                        order.jobspec,
                        seal.SealedRequest(row.instance, row.user, row.id),
                        order.principal.name,
                    ),
                    order.urgency,
                )
                for order, row in new
            ]
            sent = await cluster.connection.start(lambda instance: instance.bulk.resubmit(marked))
        except (HttpProblem, InstanceError) as error:
            return [error] * len(begun)
        found = {each.row.id: answer for each, answer in zip(new, sent, strict=True)} | taken
        return [found[each.row.id] for each in begun]

    async def _failed(
        self, cluster: ServedCluster, begun: Sequence[BegunSubmit], errors: Mapping[str, Failure]
    ) -> None:
        """Forget requests that have no job; of those that may have one nobody is at work any more."""
        forgotten: list[str] = []
        refused: list[audit.AuditEntry] = []
        for order, row in begun:
            error = errors[row.id]
            if isinstance(error, SubmitRefused):  # with another cluster, or later, it may not be
                what = f"cluster:{cluster.name} request:{row.id}"
                refused.append(audit.by(order.principal, "job.submit", what, "failed", str(error)))
                forgotten.append(row.id)
            elif not isinstance(error, HttpProblem):
                cluster.doubtful = True
            elif row.claimer:  # one that was tried before may have been sent then
                forgotten.append(row.id)
        async with self._context.database.write() as connection:
            await request_keys.remove(connection, forgotten)
            await request_keys.unclaimed(connection, [row.id for _, row in begun if row.id not in forgotten])
            if refused:
                await audit.record_all(connection, refused, self._context.now())


def _let_go(cluster: ServedCluster, begun: Iterable[BegunSubmit]) -> None:
    cluster.under_way.difference_update(each.row.id for each in begun)
    cluster.wake.set()


def _problem(cluster: ServedCluster, error: Failure) -> HttpProblem:
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, SubmitRefused):
        return HttpProblem("invalid", str(error), (FieldError("", str(error)),))
    if isinstance(error, InstanceGone):
        return away(cluster.name, str(error), cluster.connection.retry)
    return HttpProblem("instance-refused", reason(error))


def _record(begun: BegunSubmit, jobid: int, now: float) -> JobRecord:
    """Return the record of a job that was submitted just now."""
    order, row = begun
    summary = order.summary
    return JobRecord(
        row.cluster, row.instance, jobid, row.user, row.id, status=jobs.SUBMITTED, name=summary.name,
        queue=summary.queue, bank=summary.bank, urgency=order.urgency, nnodes=row.nodes, duration=row.seconds,
        t_submit=now, t_listed=now,
    )  # fmt: skip


async def note(context: Context, cluster: ServedCluster, found: Sequence[NotedJob]) -> None:
    """Write that jobs are those of requests, all of one instance."""
    ids, records = {row.id: record.id for row, record in found}, [each.record for each in found]

    async def noted(connection: AsyncConnection) -> dict[int, JobRecord]:
        await request_keys.finished(connection, ids)
        await jobs.disown(connection, ids)
        await jobs.submitted(connection, records)
        await context.database.notify(connection, jobs.channel(cluster.id))
        return await jobs.by_ids(connection, cluster.id, records[0].instance, ids.values())

    cluster.cache.put((await context.database.writing(noted)).values())


async def _jobs_of(context: Context, cluster: ServedCluster, rows: Sequence[RequestRow]) -> dict[str, Job]:
    """Return the jobs that requests have in the instance, by the requests' ids."""
    async with context.database.read() as connection:
        known = await jobs.ids(connection, cluster.id, cluster.row.instance)
    return await cluster.connection.start(
        lambda instance: marked_jobs.of_rows(instance, context.sealing, rows, known)
    )


async def recover(context: Context, cluster: ServedCluster) -> None:
    """Take over the jobs of requests that an earlier process left without one, and release the others.

    Raises InstanceError, HttpProblem, DatabaseError.
    """
    async with context.database.read() as connection:
        rows = await request_keys.pending(connection, cluster.id)
        submits = Submits(cluster.under_way, context.process, await context.claims_until(connection))
    mine = [row for row in rows if not submits.has(row)]
    if not mine:
        return
    cluster.under_way.update(row.id for row in mine)
    try:
        current = [row for row in mine if row.instance == cluster.row.instance]
        found = await _jobs_of(context, cluster, current)
        for row in mine:
            job = found.get(row.id)
            if job is None:
                async with context.database.write() as connection:
                    await request_keys.release(connection, row)
                continue
            owned = Owned(row.user, row.id)
            record = new_record(cluster.id, row.instance, job.id, owned, row.nodes, row.seconds)
            await note(context, cluster, [NotedJob(row, projected(record, job, own=cluster.own))])
    finally:
        cluster.under_way.difference_update(row.id for row in mine)
