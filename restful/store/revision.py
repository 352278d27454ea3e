"""A number that rises with each change of what replicas remember: users, sessions, tokens, grants, keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, Integer, Table, select, update

from restful.store.metadata import METADATA
from restful.store.statements import insert_missing

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

IDENTITY_REVISION = Table(
    "identity_revision",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
)
_ONLY = 1


async def read(connection: AsyncConnection) -> int:
    """Return the number."""
    return (await connection.execute(select(IDENTITY_REVISION.c.number))).scalar_one_or_none() or 0


async def raise_it(connection: AsyncConnection) -> None:
    """Raise the number, in the transaction of a change."""
    await insert_missing(connection, IDENTITY_REVISION, {"id": _ONLY, "number": 0})
    await connection.execute(update(IDENTITY_REVISION).values(number=IDENTITY_REVISION.c.number + 1))
