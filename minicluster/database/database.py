"""A database that is open: transactions that read, transactions that write, and news of changes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from sqlalchemy import exc

from minicluster.database import address, driver_errors, sqlite
from minicluster.database.channels import Channels
from minicluster.database.errors import DatabaseAway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from minicluster.database.engines import Engines
    from minicluster.database.schema import Schema

_CHANGED = "minicluster.changed"


class Database:
    """An open database; `open_database` makes one. Its methods raise DatabaseError."""

    url: str
    """Without its password."""

    def __init__(self, url: str, engines: Engines) -> None:
        self.url = url
        self._engines = engines
        self._channels = Channels()

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Give one transaction that sees one state of the database throughout, and cannot change it."""
        async with self._transaction(self._engines.reader) as connection:
            yield connection

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Give one transaction: all of it is in the database at the end, and nothing after an exception.

        On SQLite there is one at a time, so what is awaited inside is the database alone: another `write()`
        would wait for this one. It raises DatabaseAway after LOCK_TIMEOUT.
        """
        async with self._transaction(self._engines.writer) as connection:
            changed: set[str] = set()
            connection.info[_CHANGED] = changed
            yield connection
        self._channels.change(changed)

    async def notify(self, connection: AsyncConnection, channel: str) -> None:
        """Announce a change within its transaction: who waits for it wakes once that is committed."""
        connection.info[_CHANGED].add(channel)

    async def changed(self, channel: str, seen: int | None = None) -> int:
        """Wait for a change of a channel, and return its number. Not to miss any, give the last one.

            seen = 0
            while True:
                seen = await database.changed("sessions", seen)  # the first time at once
                ...  # read what there is now

        Without `seen` it waits for the next change from now on. A lost connection is a change.
        """
        return await self._channels.changed(channel, seen)

    async def close(self) -> None:
        """Close all connections."""
        await self._engines.dispose()

    @contextlib.asynccontextmanager
    async def _transaction(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        with self._translated(writes=engine is self._engines.writer):
            async with engine.begin() as connection:
                yield connection

    @contextlib.contextmanager
    def _translated(self, *, writes: bool) -> Iterator[None]:
        try:
            yield
        except exc.TimeoutError:
            raise DatabaseAway(
                f"the database {self.url} was in use by this process for {driver_errors.LOCK_TIMEOUT:.0f} s"
            ) from None
        except exc.DBAPIError as error:
            found = driver_errors.meaning(error.orig, self.url, writes=writes)
            if found is None:
                raise
            raise found from error


async def open_database(url: str, schema: Schema) -> Database:  # noqa: ARG001
    """Return the database of a URL, once it is certain that this release knows its tables.

    Raises SchemaUnknown where it does not, otherwise DatabaseError.
    """
    parsed = address.parsed(url)
    return Database(parsed.public, sqlite.engines(parsed.path))
