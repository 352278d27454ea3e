"""Sums over the whole ledger, for measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from burst.ledger.bursts import BURSTS
from burst.ledger.jobs import JOBS
from burst.ledger.reservations import RESERVATIONS
from burst.lifecycle import records
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

RAN, RETURNED, NOT_MOVED, BEGUN_ANEW, LOST = "ran", "returned", "not-moved", "begun-anew", "lost"
JOB_RESULTS = (RAN, RETURNED, NOT_MOVED, BEGUN_ANEW, LOST)
"""What became of the jobs of a deleted burst: those not moved were started here, or their burst failed.

The last two ended with its nodes.
"""
_OF_USERS = "user:"


async def amounts(connection: AsyncConnection, *, is_charged: bool) -> dict[str, int]:
    """Return what all bursts were charged, or have reserved, by scope, in micro-units; users are left out."""
    scope, total = RESERVATIONS.c.scope, func.sum(RESERVATIONS.c.amount)
    where = (RESERVATIONS.c.is_charged == is_charged, scope.not_like(f"{_OF_USERS}%"))
    rows = await connection.execute(select(scope, total).where(*where).group_by(scope))
    return {name: int(amount) for name, amount in rows}


async def job_results(connection: AsyncConnection) -> dict[str, int]:
    """Return how many jobs of deleted bursts had each of JOB_RESULTS."""
    result = case(
        (JOBS.c.outcome.like(f"{records.BEGUN_ANEW}%"), BEGUN_ANEW),
        (JOBS.c.outcome.like(f"{records.LOST}%"), LOST),
        (JOBS.c.returned_at.is_not(None), RETURNED),
        (JOBS.c.moved_at.is_not(None), RAN),
        else_=NOT_MOVED,
    )
    found = (
        select(result, func.count())
        .join(BURSTS, BURSTS.c.id == JOBS.c.burst)
        .where(BURSTS.c.state == BurstState.DELETED)
        .group_by(result)
    )
    counted = {name: int(number) for name, number in await connection.execute(found)}
    return {name: counted.get(name, 0) for name in JOB_RESULTS}
