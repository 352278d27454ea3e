"""Where the services of tests have their tables: each in a file of its folder, or all in one PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.database import open_database
from restful.store.schema import SCHEMA
from tests.database import ready_file

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.database import Database

POSTGRESQL = ""
"""The URL of a database with all tables, for the time of a test; empty: SQLite."""


async def ready(file: Path) -> Database:
    """Return the database of a file, with all tables; of PostgreSQL where a fixture has set that."""
    if POSTGRESQL:
        return await open_database(POSTGRESQL, SCHEMA)
    if not file.exists():
        file.write_bytes(ready_file.content(SCHEMA))
    return await open_database(f"sqlite:///{file}", SCHEMA)
