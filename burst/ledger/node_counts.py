"""How many nodes of a burst were there, from when on: what it is charged for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Double, ForeignKey, Integer, String, Table, func, insert, select

from burst.ledger.metadata import METADATA
from burst.lifecycle.metering import NodeCount

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

NODE_COUNTS = Table(
    "burst_nodes",
    METADATA,
    Column("burst", String(26), ForeignKey("burst.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("nodes", Integer, nullable=False),
)


async def add(connection: AsyncConnection, burst: str, count: NodeCount) -> None:
    """Add how many nodes of a burst there are from a time on, in a transaction that writes."""
    last = select(func.coalesce(func.max(NODE_COUNTS.c.number), 0)).where(NODE_COUNTS.c.burst == burst)
    number: int = (await connection.execute(last)).scalar_one() + 1
    await connection.execute(insert(NODE_COUNTS).values(burst=burst, number=number, **count._asdict()))


async def of_burst(connection: AsyncConnection, burst: str) -> list[NodeCount]:
    """Return the counts of a burst, the oldest first."""
    found = select(NODE_COUNTS).where(NODE_COUNTS.c.burst == burst).order_by(NODE_COUNTS.c.number)
    return [NodeCount(row.at, row.nodes) for row in await connection.execute(found)]


async def running(connection: AsyncConnection) -> set[str]:
    """Return the ids of bursts that have nodes by their last counts."""
    last = (
        select(NODE_COUNTS.c.burst, func.max(NODE_COUNTS.c.number).label("number"))
        .group_by(NODE_COUNTS.c.burst)
        .subquery()
    )
    is_last = (NODE_COUNTS.c.burst == last.c.burst) & (NODE_COUNTS.c.number == last.c.number)
    found = select(NODE_COUNTS.c.burst).join(last, is_last).where(NODE_COUNTS.c.nodes > 0)
    return set(await connection.scalars(found))


async def by_burst(connection: AsyncConnection) -> dict[str, list[NodeCount]]:
    """Return the counts of all bursts, by id, the oldest first."""
    found: dict[str, list[NodeCount]] = {}
    rows = await connection.execute(select(NODE_COUNTS).order_by(NODE_COUNTS.c.burst, NODE_COUNTS.c.number))
    for row in rows:
        found.setdefault(row.burst, []).append(NodeCount(row.at, row.nodes))
    return found
