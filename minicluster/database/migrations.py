"""How a database gets this release's tables: alembic's revisions, all of them in one transaction.

Replicas that start at once wait for each other: it is the lock of those who write. It runs in a thread of its
own, one at a time in a process, as alembic keeps what it works on in module variables.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from alembic import command

from minicluster.database import address, postgresql, sqlite, versions
from minicluster.database.engines import transaction, translate_errors
from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from alembic.config import Config
    from sqlalchemy import Connection

    from minicluster.database.address import DatabaseUrl
    from minicluster.database.schema import Schema

    Work = Callable[[Connection, Config, DatabaseUrl, Schema], Any]

MIGRATION_TIMEOUT = 120.0
"""Seconds to wait for another replica's migration, which may rewrite a large table."""

_ALEMBIC = threading.Lock()


async def migrate(url: str, schema: Schema) -> None:
    """Make the tables of this release, in a new database or of older ones; does nothing where they are there.

    Raises SchemaUnknown for a database of a newer release, otherwise DatabaseError.
    """
    await run(url, schema, _upgrade)


async def downgrade(url: str, schema: Schema, revision: str) -> None:
    """Make the tables of an older revision; `base` is none at all. Raises DatabaseError."""

    def work(_: Connection, config: Config, *__: object) -> None:
        command.downgrade(config, revision)

    await run(url, schema, work)


def _upgrade(connection: Connection, config: Config, url: DatabaseUrl, schema: Schema) -> None:
    before, revisions = versions.current(connection, schema), versions.known(schema)
    versions.refuse_newer(before, revisions, url, schema)
    if before == (revisions[0] if revisions else None):
        return
    command.upgrade(config, "head")
    if connection.dialect.name == address.SQLITE and (tables := sqlite.violated(connection)):
        raise DatabaseError(
            f"the database {url} was left as it was: rows of {', '.join(tables)} refer to what is not there"
        )


async def run(url: str, schema: Schema, work: Work) -> Any:
    """Return what `work` returns, which gets a transaction and alembic's configuration."""
    parsed = address.parsed(url)

    def alone() -> Any:
        with _ALEMBIC:
            return asyncio.run(_within_transaction(parsed, schema, work))

    return await asyncio.to_thread(alone)


async def _within_transaction(url: DatabaseUrl, schema: Schema, work: Work) -> Any:
    if url.engine == address.SQLITE:
        sqlite.prepare(url.path)
        engine = sqlite.migrating(url.path, MIGRATION_TIMEOUT)
    else:
        engine = postgresql.migrating(url, schema.name, MIGRATION_TIMEOUT)
    translate_errors(engine.sync_engine, url.public, writes=True)

    def begin(connection: Connection) -> Any:
        config = versions.configuration(schema)
        config.attributes["connection"] = connection
        return work(connection, config, url, schema)

    try:
        async with transaction(engine, url.public) as connection:
            return await connection.run_sync(begin)
    finally:
        await engine.dispose()
