"""What users' jobs have used, by user, cluster and day."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Column, Double, Integer, String, Table, and_, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from restful.store.metadata import METADATA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

DAY = 86_400.0

USAGE = Table(
    "usage",
    METADATA,
    Column("user", String(26), primary_key=True),
    Column("cluster", String(26), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("node_seconds", Double, nullable=False),
    Column("core_seconds", Double, nullable=False),
)


class Charge(NamedTuple):
    """Resources that a user had on one day."""

    user: str
    day: int
    """Days since 1970, in UTC."""
    node_seconds: float
    core_seconds: float


async def add(connection: AsyncConnection, cluster: str, charges: Iterable[Charge]) -> None:
    """Add to what is there."""
    rows = [{"cluster": cluster, **each._asdict()} for each in charges]
    if rows:
        await connection.execute(_adding(connection.dialect.name), rows)


@cache
def _adding(dialect_name: str) -> Any:
    dialect = postgresql if dialect_name == "postgresql" else sqlite
    made = dialect.insert(USAGE)
    more = {
        "node_seconds": USAGE.c.node_seconds + made.excluded.node_seconds,
        "core_seconds": USAGE.c.core_seconds + made.excluded.core_seconds,
    }
    same = [USAGE.c.user, USAGE.c.cluster, USAGE.c.day]
    return made.on_conflict_do_update(index_elements=same, set_=more)


async def spent(connection: AsyncConnection, user: str, cluster: str | None, since: float) -> float:
    """Return a user's node-seconds since a time, in whole days; at one cluster, or at all."""
    given = {"user": user, "cluster": cluster, "day": int(since // DAY)}
    return float((await connection.execute(_spent(cluster is None), given)).scalar_one())


@cache
def _spent(everywhere: bool) -> Select[Any]:
    mine = and_(USAGE.c.user == bindparam("user"), USAGE.c.day >= bindparam("day"))
    if not everywhere:
        mine &= USAGE.c.cluster == bindparam("cluster")
    return select(func.coalesce(func.sum(USAGE.c.node_seconds), 0.0)).where(mine)


class Sum(NamedTuple):
    """What was used, by user or by day."""

    key: str | int
    node_seconds: float
    core_seconds: float


async def sums(
    connection: AsyncConnection,
    by: str,
    user: str | None,
    clusters: Collection[str] | None,
    days: tuple[int, int],
) -> list[Sum]:
    """Return sums by "user" or by "day", of one user or of all, from the first day to the last.

    `clusters` are those that count; None: all.
    """
    key = USAGE.c.day if by == "day" else USAGE.c.user
    which: ColumnElement[bool] = USAGE.c.day.between(*days)
    if user is not None:
        which &= USAGE.c.user == user
    if clusters is not None:
        which &= USAGE.c.cluster.in_(clusters)
    total = select(key, func.sum(USAGE.c.node_seconds), func.sum(USAGE.c.core_seconds))
    found = await connection.execute(total.where(which).group_by(key).order_by(key))
    return [Sum(*row) for row in found]
