"""Which process advances bursts. Its fence rises with each new holder, and every write is checked by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Double, Integer, String, Table, insert, select, update

from burst.errors import LeaseLost
from burst.ledger.metadata import METADATA

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

LEASE = Table(
    "burst_lease",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", String(100), nullable=False),
    Column("fence", Integer, nullable=False),
    Column("until", Double, nullable=False),
)
_ONLY = 1


async def acquire(connection: AsyncConnection, holder: str, now: float, seconds: float) -> int:
    """Take the lease, or go on with it, and return its fence. Raises LeaseLost while another one has it."""
    row = (await connection.execute(select(LEASE))).one_or_none()
    if row is None:
        values = {"id": _ONLY, "holder": holder, "fence": 1, "until": now + seconds}
        await connection.execute(insert(LEASE).values(values))
        return 1
    if row.holder != holder and row.until > now:
        raise LeaseLost(f"{row.holder} advances bursts")
    fence: int = row.fence + (row.holder != holder)
    values = {"holder": holder, "fence": fence, "until": now + seconds}
    await connection.execute(update(LEASE).values(values))
    return fence


async def until(connection: AsyncConnection) -> float:
    """Return when the lease ends, or has ended; 0 if nobody ever had it."""
    return float((await connection.execute(select(LEASE.c.until))).scalar_one_or_none() or 0.0)


async def release(connection: AsyncConnection, fence: int, now: float) -> None:
    """Let another process have the lease at once, if it is still the one with this fence."""
    await connection.execute(update(LEASE).where(LEASE.c.fence == fence).values(until=now))


async def check(connection: AsyncConnection, fence: int) -> None:
    """Raise LeaseLost unless the fence is that of the present holder."""
    row = (await connection.execute(select(LEASE.c.holder, LEASE.c.fence))).one_or_none()
    if row is None or row.fence != fence:
        raise LeaseLost(f"{row.holder if row is not None else 'nobody'} advances bursts")
