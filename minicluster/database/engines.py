"""What a database is read and written by."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import event, exc

from minicluster.database import driver_errors
from minicluster.database.errors import DatabaseAway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from sqlalchemy import Engine, ExceptionContext, Row, Select
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine


@dataclass(frozen=True, slots=True)
class Engines:
    """One engine each to read and to write."""

    reader: AsyncEngine
    """Its transactions refuse to write."""
    writer: AsyncEngine
    """It has one connection: in this process who writes waits here, in the order in which they came."""
    lock_timeout: float
    """Seconds to wait for those of this process who write."""
    blocking: Engine | None = None
    """Reads in the thread that calls it: for SQLite, where `reader` changes threads ten times a statement."""
    blocking_writer: Engine | None = None
    """Writes in the thread that calls it, in place of `writer` and never beside it."""
    immediate: Engine | None = None
    """Reads in the thread of the event loop, and raises DatabaseAway where it would have to wait."""

    async def dispose(self) -> None:
        """Close all connections that nobody uses."""
        for each in (self.blocking, self.blocking_writer, self.immediate):
            if each is not None:
                each.dispose()
        await self.reader.dispose()
        await self.writer.dispose()


def translate_errors(engine: Engine, database: str, *, writes: bool) -> None:
    """Have statements and commits raise DatabaseError where a driver's error is not about them."""

    @event.listens_for(engine, "handle_error")
    def translate(context: ExceptionContext) -> BaseException | None:
        if context.is_pre_ping:
            return None  # the pool replaces a connection that was lost meanwhile
        return driver_errors.meaning(context.original_exception, database, writes=writes)


def rows(
    engine: Engine, database: str, statement: Select[Any], values: Mapping[str, Any] | None = None
) -> Sequence[Row[Any]]:
    """Return the rows of a statement. This blocks; raises DatabaseError."""
    with contextlib.ExitStack() as stack:
        with connecting(database):
            connection = stack.enter_context(engine.connect())
        return connection.execute(statement, values).fetchall()


@contextlib.contextmanager
def connecting(database: str) -> Iterator[None]:
    """Raise DatabaseError where no connection is had."""
    try:
        yield
    except exc.TimeoutError:
        raise in_use(database) from None
    except (exc.DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, exc.DBAPIError) else error
        raise driver_errors.meaning(cause, database, writes=True) or error from error


def in_use(database: str) -> DatabaseAway:
    """Return the error of who has waited too long for those of this process."""
    return DatabaseAway(f"the database {database} was in use by this process for too long: try again")


@contextlib.asynccontextmanager
async def transaction(engine: AsyncEngine, database: str) -> AsyncIterator[AsyncConnection]:
    """Give a connection with a transaction, which is committed at the end; or raise DatabaseError."""
    async with contextlib.AsyncExitStack() as stack:
        with connecting(database):
            connection = await stack.enter_async_context(engine.connect())
        async with connection.begin():
            yield connection
