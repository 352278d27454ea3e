"""Where anything was ever made: all of it is swept, also what left the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Column, Double, String, Table, Text, insert, select, update

from burst.ledger.metadata import METADATA

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

LOCATIONS = Table(
    "burst_location",
    METADATA,
    Column("provider", String(63), primary_key=True),
    Column("location", Text, primary_key=True),
    Column("first_used", Double, nullable=False),
    Column("empty_since", Double),
)


class UsedLocation(NamedTuple):
    """Where a provider has made something."""

    provider: str
    location: str
    first_used: float
    empty_since: float | None
    """Since when each sweep has found nothing there."""


async def use(connection: AsyncConnection, provider: str, location: str, now: float) -> None:
    """Remember a location, before anything is made there."""
    where = (LOCATIONS.c.provider == provider, LOCATIONS.c.location == location)
    if (await connection.execute(select(LOCATIONS).where(*where))).one_or_none() is None:
        values = {"provider": provider, "location": location, "first_used": now, "empty_since": None}
        await connection.execute(insert(LOCATIONS).values(values))
    else:
        await connection.execute(update(LOCATIONS).where(*where).values(empty_since=None))


async def used(connection: AsyncConnection) -> list[UsedLocation]:
    """Return all locations."""
    rows = await connection.execute(select(LOCATIONS).order_by(LOCATIONS.c.provider, LOCATIONS.c.location))
    return [UsedLocation(**row._mapping) for row in rows]


async def note_empty(connection: AsyncConnection, provider: str, location: str, since: float | None) -> None:
    """Set since when nothing is there; None: something is."""
    where = (LOCATIONS.c.provider == provider, LOCATIONS.c.location == location)
    await connection.execute(update(LOCATIONS).where(*where).values(empty_since=since))
