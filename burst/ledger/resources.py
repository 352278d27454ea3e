"""Resources of bursts: each is written before the first call about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Double, ForeignKey, Integer, String, Table, insert, select, update

from burst.ledger.metadata import METADATA
from burst.lifecycle.records import ResourceKey, ResourceRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

RESOURCES = Table(
    "burst_resource",
    METADATA,
    Column("burst", String(26), ForeignKey("burst.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(40), nullable=False),
    Column("name", String(63), nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("intent_at", Double),
    Column("made_at", Double),
    Column("gone_at", Double),
)


async def add(connection: AsyncConnection, burst: str, keys: Sequence[ResourceKey]) -> None:
    """Insert the resources of a burst, in the order in which they are made."""
    rows = [{"burst": burst, "number": number, **key._asdict()} for number, key in enumerate(keys)]
    await connection.execute(insert(RESOURCES), rows)


async def of_burst(connection: AsyncConnection, burst: str) -> list[ResourceRecord]:
    """Return the resources of a burst, in the order in which they are made."""
    found = select(RESOURCES).where(RESOURCES.c.burst == burst).order_by(RESOURCES.c.number)
    return [_record(row) for row in await connection.execute(found)]


async def by_burst(connection: AsyncConnection) -> dict[str, list[ResourceRecord]]:
    """Return the resources of all bursts, by id, in the order in which they are made."""
    found: dict[str, list[ResourceRecord]] = {}
    ordered = select(RESOURCES).order_by(RESOURCES.c.burst, RESOURCES.c.number)
    for row in await connection.execute(ordered):
        found.setdefault(row.burst, []).append(_record(row))
    return found


def _record(row: Row[Any]) -> ResourceRecord:
    key = ResourceKey(row.kind, row.name, row.nodes)
    return ResourceRecord(row.burst, row.number, key, row.intent_at, row.made_at, row.gone_at)


async def change(connection: AsyncConnection, resource: ResourceRecord, **values: Any) -> None:
    """Set values of a resource."""
    where = (RESOURCES.c.burst == resource.burst, RESOURCES.c.number == resource.number)
    await connection.execute(update(RESOURCES).where(*where).values(values))
