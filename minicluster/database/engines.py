"""What a database is read and written by."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import event, exc

from minicluster.database import driver_errors
from minicluster.database.errors import DatabaseAway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import ExceptionContext
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


@dataclass(frozen=True, slots=True)
class Engines:
    """One engine each to read and to write."""

    reader: AsyncEngine
    """Its transactions refuse to write."""
    writer: AsyncEngine
    """It has one connection: in this process who writes waits here, in the order in which they came."""

    async def dispose(self) -> None:
        """Close all connections that nobody uses."""
        await self.reader.dispose()
        await self.writer.dispose()


def translate_errors(engine: AsyncEngine, database: str, *, writes: bool) -> None:
    """Have statements and commits raise DatabaseError where a driver's error is not about them."""

    @event.listens_for(engine.sync_engine, "handle_error")
    def translate(context: ExceptionContext) -> BaseException | None:
        if context.is_pre_ping:
            return None  # the pool replaces a connection that was lost meanwhile
        return driver_errors.meaning(context.original_exception, database, writes=writes)


@contextlib.asynccontextmanager
async def transaction(engine: AsyncEngine, database: str) -> AsyncIterator[AsyncConnection]:
    """Give a connection with a transaction, which is committed at the end; or raise DatabaseError."""
    async with contextlib.AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(engine.connect())
        except exc.TimeoutError:
            raise DatabaseAway(
                f"the database {database} was in use by this process for too long: try again"
            ) from None
        except (exc.DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, exc.DBAPIError) else error
            raise driver_errors.meaning(cause, database, writes=True) or error from error
        async with connection.begin():
            yield connection
