"""A SQLite file with all tables of a schema, for tests: to copy it takes less time than to migrate one."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import StaticPool, create_engine

from minicluster.database import versions

if TYPE_CHECKING:
    from minicluster.database import Schema


@cache
def content(schema: Schema) -> bytes:
    """Return the file, which `open_database` takes for one of the newest revision.

    Migrations make the same tables: tests/database/test_migrations.py holds them to that.
    """
    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        context = MigrationContext.configure(connection, opts={"version_table": schema.version_table})
        context.stamp(ScriptDirectory.from_config(versions.configuration(schema)), "head")
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        found = driver.serialize()
    engine.dispose()
    return found
