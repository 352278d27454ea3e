"""What a database is read and written by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


@dataclass(frozen=True, slots=True)
class Engines:
    """One engine each to read and to write; for PostgreSQL they have one pool."""

    reader: AsyncEngine
    """Its transactions refuse to write."""
    writer: AsyncEngine

    async def dispose(self) -> None:
        """Close all connections that nobody uses."""
        await self.reader.dispose()
        await self.writer.dispose()
