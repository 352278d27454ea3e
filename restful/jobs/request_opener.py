"""Writes the rows of requests before their jobs are submitted: reservations, keys, audit entries."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from minicluster.database import new_id
from restful import audit
from restful.clusters.ownership import Submits
from restful.errors import FieldError, HttpProblem
from restful.jobs import reserved
from restful.store import request_keys
from restful.store.request_keys import PENDING, RELEASED, RequestRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from restful.clusters.follower import Context
    from restful.jobs.submit_order import SubmitOrder
    from restful.settings import JobLimits

SWEEP_SECONDS = 60.0
"""Between two looks for keys that are too old; one that is used again is looked at then."""
_RETRY = {"Retry-After": "1"}


class RequestOpener:
    """Opens requests for all users."""

    def __init__(self, context: Context, limits: JobLimits) -> None:
        self._context = context
        self._limits = limits
        self._swept = -math.inf

    async def open(self, orders: Sequence[SubmitOrder]) -> list[RequestRow]:
        """Return the row of each order: a new one, or that of an earlier request with its key.

        The orders are those of one user at one cluster; there is a row for all of them, or for none. On those
        without a job this process works from now on. Raises HttpProblem, DatabaseError.
        """
        cluster = orders[0].cluster
        claimed: set[str] = set()

        async def opened(connection: AsyncConnection) -> list[RequestRow]:
            now = self._context.now()
            formers = await self._formers(connection, orders, now)
            found = [former if former is not None and former.job is not None else None for former in formers]
            if None not in found:
                return [row for row in found if row is not None]
            if cluster.connection.reason:
                raise cluster.connection.refusal()
            rows = await self._claimed(connection, orders, formers, now)
            begun = [row for row in rows if row.job is None]
            entries = [
                audit.by(orders[0].principal, "job.submit", f"cluster:{cluster.name} request:{row.id}")
                for row in begun
            ]
            await audit.record_all(connection, entries, now)
            # Before the commit: a request with the same key may be next in line for the transaction.
            claimed.update(row.id for row in begun)
            cluster.under_way.update(claimed)
            return rows

        try:
            return await self._context.database.writing(opened)
        except BaseException:
            cluster.under_way -= claimed
            raise

    async def _formers(
        self, connection: AsyncConnection, orders: Sequence[SubmitOrder], now: float
    ) -> list[RequestRow | None]:
        """Return the row of an earlier request with the key of each order."""
        first, oldest = orders[0], now - self._limits.key_seconds
        keys = [order.key for order in orders if order.key is not None]
        rows = await request_keys.by_keys(connection, first.principal.user, first.cluster.id, keys)
        if abs(now - self._swept) > SWEEP_SECONDS or any(row.created < oldest for row in rows.values()):
            await request_keys.expire_keys(connection, oldest)
            rows = await request_keys.by_keys(connection, first.principal.user, first.cluster.id, keys)
            self._swept = now
        formers = [None if order.key is None else rows.get(order.key) for order in orders]
        if rows:
            until = await self._context.claims_until(connection)
            submits = Submits(first.cluster.under_way, self._context.process, until)
            for order, former in zip(orders, formers, strict=True):
                _check_former(order, former, submits)
        return formers

    async def _claimed(
        self,
        connection: AsyncConnection,
        orders: Sequence[SubmitOrder],
        formers: Sequence[RequestRow | None],
        now: float,
    ) -> list[RequestRow]:
        """Write rows, new or tried again, with their reservations and a claim."""
        context, cluster = self._context, orders[0].cluster
        until = await context.common_now(connection) + context.limits.claim_seconds
        pairs = tuple(zip(orders, formers, strict=True))
        wanted = [
            order.summary.reservation for order, former in pairs if former is None or former.state == RELEASED
        ]
        await reserved.check(connection, orders[0].principal.user, cluster.row, wanted, self._limits, now)
        rows: list[RequestRow] = []
        for order, former in pairs:
            if former is None:
                rows.append(self._new(order, now, until))
            elif former.job is None:
                rows.append(await self._again(connection, order, former, until))
            else:
                rows.append(former)
        await request_keys.add(
            connection, [row for row, former in zip(rows, formers, strict=True) if former is None]
        )
        return rows

    def _new(self, order: SubmitOrder, now: float, until: float) -> RequestRow:
        nodes, seconds = order.summary.reservation
        return RequestRow(
            id=new_id(now),
            user=order.principal.user,
            cluster=order.cluster.id,
            instance=order.cluster.row.instance,
            key=order.key,
            fingerprint=order.fingerprint,
            state=PENDING,
            job=None,
            nodes=nodes,
            seconds=seconds,
            claimer=self._context.process,
            claimed_until=until,
            created=now,
        )

    async def _again(
        self, connection: AsyncConnection, order: SubmitOrder, former: RequestRow, until: float
    ) -> RequestRow:
        """Claim a row of which no job is known; without a claimer, as an earlier attempt may have sent it."""
        if not await request_keys.claim(connection, former, self._context.process, until):
            raise _under_way()
        instance = order.cluster.row.instance
        await request_keys.reserve(connection, former.id, instance, *order.summary.reservation)
        return replace(former, instance=instance, claimer="")


def _check_former(order: SubmitOrder, former: RequestRow | None, submits: Submits) -> None:
    """Raise HttpProblem if the key of an order is another request's, or is under way."""
    if former is None:
        return
    if former.fingerprint != order.fingerprint:
        message = "was used for another request within a day; take a new one for each job"
        raise HttpProblem("invalid", f"Idempotency-Key {message}", (FieldError("Idempotency-Key", message),))
    if submits.has(former):
        raise _under_way()


def _under_way() -> HttpProblem:
    return HttpProblem("under-way", "a request with this Idempotency-Key is under way", headers=_RETRY)
