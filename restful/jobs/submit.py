"""Submits a job once, however often a client asks and whenever this process dies.

1. One transaction writes the request's row, which is its reservation too, and the audit log's entry.
2. The instance gets the job, with the mark that names the row.
3. One transaction notes the job in the row, and the job itself.

After a crash between 1 and 3 the row is without a job. The next use of the key, or this service when it
reaches the instance again, looks for the mark among the instance's jobs: one that has it is taken over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from minicluster.database import new_id
from minicluster.instance.errors import InstanceError, InstanceGone, SubmitRefused
from restful import audit
from restful.clusters.connection import away
from restful.clusters.ownership import Submits
from restful.clusters.projection import Owned, new_record, projected
from restful.errors import FieldError, HttpProblem
from restful.jobs import claims, jobspecs, marked_jobs, reserved, seal
from restful.store import jobs, request_keys
from restful.store.jobs import JobRecord
from restful.store.request_keys import PENDING, RELEASED, RequestRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.instance.records import Job
    from restful.clusters.cluster import ServedCluster
    from restful.clusters.follower import Context
    from restful.identity.principal import Principal
    from restful.jobs.quota import Reservation
    from restful.settings import JobLimits


class Submitted(NamedTuple):
    """The job of a request."""

    id: int
    replayed: bool
    """Whether an earlier request with the same key submitted it."""


@dataclass(frozen=True, slots=True)
class SubmitOrder:
    """A job that a user wants submitted, checked."""

    principal: Principal
    cluster: ServedCluster
    jobspec: Mapping[str, Any]
    urgency: int
    key: str | None
    fingerprint: str

    @property
    def reservation(self) -> Reservation:
        """Return what the job may use at most."""
        return jobspecs.reservation_of(self.jobspec, self.cluster.connection.cores_per_node)


class Submitter:
    """Submits for all users."""

    def __init__(self, context: Context, limits: JobLimits) -> None:
        self._context = context
        self._limits = limits
        self._tasks: set[asyncio.Task[Any]] = set()

    async def submit(self, order: SubmitOrder) -> Submitted:
        """Submit a job, or return the one of an earlier request. Raises HttpProblem, DatabaseError."""
        row = await self._begin(order)
        if row.job is not None:
            return Submitted(row.job, replayed=True)
        task = asyncio.ensure_future(claims.keeping(self._context, row, self._go_on(order, row)))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._context.limits.call_seconds)
        except TimeoutError as error:
            reason = "did not answer in time; send the request again with the same Idempotency-Key"
            raise away(order.cluster.name, reason, 1) from error

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who stopped waiting asks again

    async def _begin(self, order: SubmitOrder) -> RequestRow:
        """Return the request's row, on which this process works from now on if it has no job."""
        context, cluster, now = self._context, order.cluster, self._context.now()
        claimed: set[str] = set()

        async def begin(connection: AsyncConnection) -> RequestRow:
            former = await self._former(connection, order, now)
            if former is not None and former.job is not None:
                return former
            self._check_ready(cluster)
            until = await context.common_now(connection) + context.limits.claim_seconds
            row = await self._claimed(
                connection, order, former or self._new(order, new_id(now), now, until), former, until
            )
            entry = audit.by(order.principal, "job.submit", f"cluster:{cluster.name} request:{row.id}")
            await audit.record(connection, entry, now)
            # Before the commit: a request with the same key may be next in line for the transaction.
            claimed.add(row.id)
            cluster.under_way.add(row.id)
            return row

        try:
            return await context.database.writing(begin)
        except BaseException:
            cluster.under_way -= claimed
            raise

    def _check_ready(self, cluster: ServedCluster) -> None:
        if cluster.connection.reason:
            raise cluster.connection.refusal()

    async def _former(self, connection: AsyncConnection, order: SubmitOrder, now: float) -> RequestRow | None:
        """Return the row of an earlier request with the same key."""
        await request_keys.expire_keys(connection, now - self._limits.key_seconds)
        if order.key is None:
            return None
        row = await request_keys.by_key(connection, order.principal.user, order.cluster.id, order.key)
        if row is None:
            return None
        if row.fingerprint != order.fingerprint:
            message = "was used for another request within a day; take a new one for each job"
            raise HttpProblem(
                "invalid", f"Idempotency-Key {message}", (FieldError("Idempotency-Key", message),)
            )
        until = await self._context.claims_until(connection)
        if Submits(order.cluster.under_way, self._context.process, until).has(row):
            raise HttpProblem("under-way", "a request with this Idempotency-Key is under way", headers=_RETRY)
        return row

    def _new(self, order: SubmitOrder, row_id: str, now: float, until: float) -> RequestRow:
        reservation = order.reservation
        return RequestRow(
            id=row_id,
            user=order.principal.user,
            cluster=order.cluster.id,
            instance=order.cluster.row.instance,
            key=order.key,
            fingerprint=order.fingerprint,
            state=PENDING,
            job=None,
            nodes=reservation.nodes,
            seconds=reservation.seconds,
            claimer=self._context.process,
            claimed_until=until,
            created=now,
        )

    async def _claimed(
        self,
        connection: AsyncConnection,
        order: SubmitOrder,
        row: RequestRow,
        former: RequestRow | None,
        until: float,
    ) -> RequestRow:
        """Write a row, new or tried again, with its reservation and a claim."""
        user, cluster = order.principal.user, order.cluster.row
        if former is None or former.state == RELEASED:
            await reserved.check(connection, user, cluster, order.reservation, self._limits, row.created)
        if former is None:
            await request_keys.add(connection, row)
            return row
        if not await request_keys.claim(connection, former, self._context.process, until):
            raise HttpProblem("under-way", "a request with this Idempotency-Key is under way", headers=_RETRY)
        instance = order.cluster.row.instance
        await request_keys.reserve(connection, former.id, instance, *order.reservation)
        return replace(former, instance=instance, claimer="")

    async def _go_on(self, order: SubmitOrder, row: RequestRow) -> Submitted:
        """Submit, or take over what an earlier attempt has submitted."""
        cluster = order.cluster
        try:
            if not row.claimer:  # an earlier attempt
                job = await self._found(order, row)
                if job is not None:
                    return await self._finish(order, row, job.id, job)
            marked = self._context.sealing.marked(
                order.jobspec, seal.SealedRequest(row.instance, row.user, row.id)
            )
            jobid = await cluster.connection.start(
                lambda instance: instance.jobs.resubmit(marked, urgency=order.urgency)
            )
            return await self._finish(order, row, jobid)
        except SubmitRefused as error:
            await self._refused(order, row, str(error))
            raise HttpProblem("invalid", str(error), (FieldError("", str(error)),)) from error
        except HttpProblem:  # it was not sent
            await self._unsent(row)
            raise
        except InstanceError as error:
            await self._unclaimed(row)
            cluster.doubtful = True
            if isinstance(error, InstanceGone):
                raise away(cluster.name, str(error), cluster.connection.retry) from error
            raise
        finally:
            cluster.under_way.discard(row.id)
            cluster.wake.set()

    async def _found(self, order: SubmitOrder, row: RequestRow) -> Job | None:
        return (await _jobs_of(self._context, order.cluster, [row])).get(row.id)

    async def _finish(
        self, order: SubmitOrder, row: RequestRow, jobid: int, job: Job | None = None
    ) -> Submitted:
        now, cluster = self._context.now(), order.cluster
        name, queue, bank = jobspecs.summary_of(order.jobspec)
        record = JobRecord(
            cluster.id, row.instance, jobid, row.user, row.id, status=jobs.SUBMITTED, name=name, queue=queue,
            bank=bank, urgency=order.urgency, nnodes=row.nodes, duration=row.seconds, t_submit=now,
            t_listed=now,
        )  # fmt: skip
        await note(
            self._context, cluster, row, record if job is None else projected(record, job, own=cluster.own)
        )
        return Submitted(jobid, replayed=job is not None)

    async def _refused(self, order: SubmitOrder, row: RequestRow, reason: str) -> None:
        """Forget a request that the instance refused: with another cluster, or later, it may not."""
        entry = audit.by(
            order.principal, "job.submit", f"cluster:{order.cluster.name} request:{row.id}", "failed", reason
        )
        async with self._context.database.write() as connection:
            await request_keys.remove(connection, row.id)
            await audit.record(connection, entry, self._context.now())

    async def _unsent(self, row: RequestRow) -> None:
        """Forget a request that did not reach the instance; one that was tried before may have."""
        if not row.claimer:
            await self._unclaimed(row)
            return
        async with self._context.database.write() as connection:
            await request_keys.remove(connection, row.id)

    async def _unclaimed(self, row: RequestRow) -> None:
        """Have nobody work on a request of which it is not known whether the instance took it."""
        async with self._context.database.write() as connection:
            await request_keys.unclaimed(connection, row.id)


_RETRY = {"Retry-After": "1"}


async def note(context: Context, cluster: ServedCluster, row: RequestRow, record: JobRecord) -> None:
    """Write that a job is a request's."""

    async def noted(connection: AsyncConnection) -> dict[int, JobRecord]:
        await request_keys.finished(connection, row.id, record.id)
        await jobs.disown(connection, row.id, record.id)
        await jobs.submitted(connection, record)
        await context.database.notify(connection, f"jobs:{cluster.id}")
        return await jobs.by_ids(connection, cluster.id, record.instance, [record.id])

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
            await note(context, cluster, row, projected(record, job, own=cluster.own))
    finally:
        cluster.under_way.difference_update(row.id for row in mine)
