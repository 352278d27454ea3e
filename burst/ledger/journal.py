"""What was done for each burst: lines are only added."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    bindparam,
    func,
    insert,
    or_,
    select,
)

from burst.ledger.metadata import METADATA
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

JOURNAL = Table(
    "burst_journal",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("burst", String(26), ForeignKey("burst.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Double, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("text", Text, nullable=False),
)

LATER = select(JOURNAL.c.id, JOURNAL.c.fence).where(JOURNAL.c.id > bindparam("number")).order_by(JOURNAL.c.id)
"""What reads the numbers of the lines behind one, and the fences of who wrote them."""
LAST = select(func.coalesce(func.max(JOURNAL.c.id), 0))
"""What reads the number of the last line, 0 if there is none."""


class JournalEntry(NamedTuple):
    """A line of a burst's journal."""

    at: float
    fence: int
    """Of the process that did it; 0: of somebody who asked for something."""
    text: str


async def add(connection: AsyncConnection, burst: str, fence: int, text: str, now: float) -> None:
    """Add a line, in a transaction that writes."""
    number: int = (await connection.execute(LAST)).scalar_one() + 1
    row = {"id": number, "burst": burst, "at": now, "fence": fence, "text": text}
    await connection.execute(insert(JOURNAL).values(row))


async def states(connection: AsyncConnection) -> dict[str, list[tuple[float, BurstState]]]:
    """Return when bursts have entered states, by id, the oldest first: lines of it begin with the state."""
    texts = [or_(JOURNAL.c.text == each, JOURNAL.c.text.like(f"{each}:%")) for each in BurstState]
    columns = (JOURNAL.c.burst, JOURNAL.c.at, JOURNAL.c.text)
    found: dict[str, list[tuple[float, BurstState]]] = {}
    for row in await connection.execute(select(*columns).where(or_(*texts)).order_by(JOURNAL.c.id)):
        found.setdefault(row.burst, []).append((row.at, BurstState(row.text.partition(":")[0])))
    return found


async def of_burst(connection: AsyncConnection, burst: str) -> list[JournalEntry]:
    """Return the lines of a burst, the oldest first."""
    found = select(JOURNAL).where(JOURNAL.c.burst == burst).order_by(JOURNAL.c.id)
    return [JournalEntry(row.at, row.fence, row.text) for row in await connection.execute(found)]
