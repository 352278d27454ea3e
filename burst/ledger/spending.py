"""What bursts were charged and have reserved, by scope and period: one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import and_, case, func, select

from burst.ledger.reservations import RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection


class ScopeSpending(NamedTuple):
    """The money of a scope, in micro-units."""

    scope: str
    charged: int
    """To bursts that began since a time, and of which nothing is left."""
    reserved: int
    """By the others of them, at worst; or what they have cost, if that is more."""
    used: Mapping[float, int]
    """Both together, since other times."""


async def by_scope(
    connection: AsyncConnection, since: float, others: Iterable[float] = ()
) -> list[ScopeSpending]:
    """Return what each scope has cost since a time, and used since others, by name."""
    times = sorted(set(others))
    at, is_charged = RESERVATIONS.c.at, RESERVATIONS.c.is_charged
    columns = [
        _sum(and_(is_charged, at >= since)),
        _sum(and_(~is_charged, at >= since)),
        *(_sum(at >= each) for each in times),
    ]
    scope = RESERVATIONS.c.scope
    rows = await connection.execute(select(scope, *columns).group_by(scope).order_by(scope))
    return [
        ScopeSpending(name, int(charged), int(reserved), dict(zip(times, map(int, used), strict=True)))
        for name, charged, reserved, *used in rows
    ]


def _sum(where: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(case((where, RESERVATIONS.c.amount), else_=0)), 0)
