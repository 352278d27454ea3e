"""A database that is open: transactions that read, transactions that write, and news of changes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import func, select

from minicluster.database import address, backup, blocking, postgresql, sqlite, versions
from minicluster.database.channels import CHANGED, Channels
from minicluster.database.engines import rows, transaction, translate_errors
from minicluster.database.errors import DatabaseAway
from minicluster.database.group_commit import GroupCommit
from minicluster.database.listener import ChannelListener

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Row, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

    from minicluster.database.address import DatabaseUrl
    from minicluster.database.blocking import TransactionWork
    from minicluster.database.engines import Engines
    from minicluster.database.schema import Schema

T = TypeVar("T")


class Database:
    """An open database; `open_database` makes one. Its methods raise DatabaseError."""

    url: str
    """Without its password."""

    def __init__(self, url: DatabaseUrl, schema: Schema, engines: Engines) -> None:
        self.url = url.public
        self._address = url
        self._engines = engines
        self._channels = Channels()
        self._group: GroupCommit | None = None
        server = url.engine == address.POSTGRESQL
        self._listener = ChannelListener(url, schema.name, self._channels) if server else None
        translate_errors(engines.reader.sync_engine, self.url, writes=False)
        translate_errors(engines.writer.sync_engine, self.url, writes=True)
        for each in (engines.blocking, engines.immediate):
            if each is not None:
                translate_errors(each, self.url, writes=False)
        if engines.blocking_writer is not None:
            translate_errors(engines.blocking_writer, self.url, writes=True)
            self._group = GroupCommit(engines.blocking_writer, self.url, engines.lock_timeout, self._channels)

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Give one transaction that sees one state of the database throughout, and cannot change it."""
        async with transaction(self._engines.reader, self.url) as connection:
            yield connection

    async def reading(self, work: TransactionWork[T]) -> T:
        """Return what a function returns that has one transaction, as `read` gives it.

        On SQLite all of it runs in another thread, in a fraction of the time that `read` takes.
        """
        if self._engines.blocking is not None:
            return await asyncio.to_thread(blocking.reading, self._engines.blocking, self.url, work)
        async with self.read() as connection:
            return await work(connection)

    async def rows(
        self, statement: Select[Any], values: Mapping[str, Any] | None = None, *, few: bool = False
    ) -> Sequence[Row[Any]]:
        """Return the rows of one statement, in a transaction of its own: faster than `read` for that.

        `few`: it reads some hundred rows at most, by an index. SQLite does that in this thread, in less time
        than another one takes to begin beside many requests; where it would have to wait, another one does.
        """
        if self._engines.blocking is not None:
            if few and self._engines.immediate is not None:
                with contextlib.suppress(DatabaseAway):
                    return rows(self._engines.immediate, self.url, statement, values)
            return await asyncio.to_thread(rows, self._engines.blocking, self.url, statement, values)
        async with self.read() as connection:
            found: Sequence[Row[Any]] = (await connection.execute(statement, values)).all()
            return found

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """Give one transaction: all of it is in the database at the end, and nothing after an exception.

        There is one at a time, on any replica: what it reads stays true until its end. So what is awaited
        inside is the database alone, and another `write()` never. Raises DatabaseAway after LOCK_TIMEOUT.
        """
        changed: set[str] = set()
        alone = contextlib.nullcontext() if self._group is None else self._group.alone()
        try:
            async with alone, transaction(self._engines.writer, self.url) as connection:
                connection.info[CHANGED] = changed
                yield connection
        except asyncio.CancelledError:  # perhaps just after it was committed
            self._channels.change(changed)
            raise
        self._channels.change(changed)

    async def writing(self, work: TransactionWork[T]) -> T:
        """Return what a function returns that has one transaction, as `write` gives it.

        On SQLite all of it runs in another thread, and those that wait at once are committed at once. That is
        many times faster than `write`, where each statement changes threads; what the function calls besides
        must be safe there.
        """
        if self._group is not None:
            return await self._group.run(work)
        async with self.write() as connection:
            return await work(connection)

    async def notify(self, connection: AsyncConnection, channel: str) -> None:
        """Announce a change within its transaction: who waits for it wakes once that is committed."""
        if self._listener is None:
            connection.info[CHANGED].add(channel)
        else:
            await connection.execute(select(func.pg_notify(self._listener.name(channel), "")))

    async def changed(self, channel: str, seen: int | None = None) -> int:
        """Wait for a change of a channel, and return its number. Not to miss any, give the last one.

            seen = 0
            while True:
                seen = await database.changed("sessions", seen)  # the first time at once
                ...  # read what there is now

        Without `seen` it waits for the next change from now on. On PostgreSQL changes come from all replicas,
        and a lost connection is one; on SQLite they come from this process alone.
        """
        if self._listener is None:
            self._channels.begin(channel)
        else:
            self._listener.follow(channel)
        return await self._channels.changed(channel, seen)

    def changes(self, channel: str) -> int | None:
        """Return the number of a channel's changes, to compare it with a later one.

        None where others change it as well: what they have committed is not known here at once.
        """
        return self._channels.number(channel) if self._listener is None else None

    async def backup(self, target: Path) -> None:
        """Write the database as it is now to a new file, 0600, while others go on writing."""
        await asyncio.to_thread(backup.backup, self._address, target)

    async def close(self) -> None:
        """Close all connections."""
        if self._listener is not None:
            await self._listener.close()
        if self._group is not None:
            await self._group.close()
        await self._engines.dispose()


async def open_database(url: str, schema: Schema) -> Database:
    """Return the database of a URL, once it is certain that its tables are those of this release.

    Raises SchemaUnknown where they are not, otherwise DatabaseError. `migrate` makes and changes tables.
    """
    parsed = address.parsed(url)
    if parsed.engine == address.SQLITE:
        versions.check_file(parsed, schema)
        await asyncio.to_thread(sqlite.prepare, parsed.path)
        engines = sqlite.engines(parsed.path)
    else:
        engines = postgresql.engines(parsed, schema.name)
    database = Database(parsed, schema, engines)
    try:
        async with database.read() as connection:
            await connection.run_sync(versions.check, parsed, schema)
    except BaseException:
        await database.close()
        raise
    return database
