"""A schema of two tables that refer to each other, with two revisions; for tests."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from sqlalchemy import Column, ForeignKey, Integer, MetaData, Table, Text, select

from minicluster.database import Schema, open_database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

METADATA = MetaData(
    naming_convention={"fk": "fk_%(table_name)s_%(column_0_name)s", "pk": "pk_%(table_name)s"}
)
AUTHORS = Table(
    "author",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("initial", Text, nullable=False),
)
BOOKS = Table(
    "book",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("author", ForeignKey("author.id", ondelete="CASCADE"), nullable=False),
    Column("title", Text, nullable=False),
)
SCHEMA = Schema("library", METADATA, "tests.database.library_migrations")
NO_REVISIONS = dataclasses.replace(SCHEMA, migrations="tests.database.no_migrations")


async def execute(url: str, *statements: str, schema: Schema = NO_REVISIONS) -> None:
    """Execute statements in a database of any revision."""
    raw = dataclasses.replace(schema, name="none")
    database = await open_database(url, raw)
    try:
        async with database.write() as connection:
            for each in statements:
                await connection.exec_driver_sql(each)
    finally:
        await database.close()


async def books(url: str) -> Sequence[Row[str, str, str]]:
    """Return author, initial and title of each book; the database has the newest revision."""
    database = await open_database(url, SCHEMA)
    try:
        async with database.read() as connection:
            joined = select(AUTHORS.c.name, AUTHORS.c.initial, BOOKS.c.title).join(BOOKS)
            return (await connection.execute(joined.order_by(BOOKS.c.id))).all()
    finally:
        await database.close()
