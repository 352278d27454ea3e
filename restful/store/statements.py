"""Statements that SQLite and PostgreSQL have alike, and SQLAlchemy's core has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.ext.asyncio import AsyncConnection


async def insert_missing(connection: AsyncConnection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert a row unless one with the same key is there; return whether it was inserted."""
    kind = postgresql if connection.dialect.name == "postgresql" else sqlite
    result = await connection.execute(kind.insert(table).values(row).on_conflict_do_nothing())
    return result.rowcount == 1
