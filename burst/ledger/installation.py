"""The id of this installation, which all that it makes is labelled with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Integer, String, Table, insert, select

from burst.ledger.metadata import METADATA

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

INSTALLATION = Table(
    "burst_installation",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("installation", String(26), nullable=False),
)
_ONLY = 1


async def ensure(connection: AsyncConnection, new: str) -> str:
    """Return the installation's id, which is `new` if it has none yet."""
    found: str | None = (await connection.execute(select(INSTALLATION.c.installation))).scalar_one_or_none()
    if found is None:
        await connection.execute(insert(INSTALLATION).values(id=_ONLY, installation=new))
    return found or new
