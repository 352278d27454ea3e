"""A database of PostgreSQL for services: migrated once, and empty at the beginning of each test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import pytest

from minicluster.database import migrate
from restful.store.schema import SCHEMA
from tests.restful import databases

if TYPE_CHECKING:
    from tests.database.postgresql import Server


@pytest.fixture(scope="session")
def migrated(postgresql: Server) -> str:
    """The URL of a database with all tables."""
    url = postgresql.database()
    asyncio.run(migrate(url, SCHEMA))
    return url


@pytest.fixture
def url(migrated: str) -> str:
    """The URL of a database with all tables, without rows: to empty one takes less time than to copy one."""
    asyncio.run(_empty(migrated))
    return migrated


async def _empty(url: str) -> None:
    tables = [f'"{each.name}"' for each in reversed(SCHEMA.metadata.sorted_tables)]
    connection = await asyncpg.connect(url)
    await connection.execute(";".join(f"DELETE FROM {each}" for each in tables))
    await connection.close()


@pytest.fixture(autouse=True)
def on_postgresql(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the services of a test use that database."""
    monkeypatch.setattr(databases, "POSTGRESQL", url)
