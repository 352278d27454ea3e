"""A schema of one table, for tests, and databases with it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from sqlalchemy import Column, Integer, MetaData, Table, Text, select

from minicluster.database import Database, Schema, address, open_database, postgresql, sqlite

METADATA = MetaData()
NOTES = Table("note", METADATA, Column("id", Integer, primary_key=True), Column("text", Text, nullable=False))
SCHEMA = Schema("notes", METADATA, "tests.database.no_migrations")


@contextlib.asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """Give a new database, with the table."""
    database = await open_database(url, SCHEMA)
    try:
        async with database.write() as connection:
            await connection.run_sync(METADATA.create_all)
        yield database
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def waiting(url: str, seconds: float) -> AsyncIterator[Database]:
    """Give a database that is there, which waits so long for locks."""
    parsed = address.parsed(url)
    if parsed.engine == address.SQLITE:
        engines = sqlite.engines(parsed.path, seconds)
    else:
        engines = postgresql.engines(parsed, SCHEMA.name, seconds)
    database = Database(parsed, SCHEMA, engines)
    try:
        yield database
    finally:
        await database.close()


async def add(database: Database, *texts: str) -> None:
    """Write notes in one transaction."""
    async with database.write() as connection:
        await connection.execute(NOTES.insert(), [{"text": each} for each in texts])


async def texts(database: Database) -> list[str]:
    """Return all notes."""
    async with database.read() as connection:
        return list((await connection.scalars(select(NOTES.c.text).order_by(NOTES.c.id))).all())


def within(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, within a minute."""

    async def limited() -> Any:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(limited())
