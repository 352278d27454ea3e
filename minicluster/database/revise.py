"""Write a schema's next revision: what its migrations lack to make the tables that its code has.

    python -m minicluster.database.revise restful.store.schema:SCHEMA 0002 "last use of tokens"

It compares with a new SQLite database that has all revisions so far. Read what it has written, and add what
becomes of the rows.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from alembic import autogenerate, command
from alembic.migration import MigrationContext

from minicluster.database import migrations, versions

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

    from minicluster.database.schema import Schema


async def differences(url: str, schema: Schema) -> list[Any]:
    """Return what alembic would change in a database to get the tables of `schema.metadata`."""

    def work(connection: Connection, *_: object) -> list[Any]:
        options = {
            "version_table": schema.version_table,
            "include_name": lambda name, kind, _: versions.ours(schema, name, kind),
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        return list(autogenerate.compare_metadata(context, schema.metadata))

    found: list[Any] = await migrations.run(url, schema, work)
    return found


async def write_revision(schema: Schema, revision: str, message: str) -> None:
    """Write a further revision into the schema's package."""

    def work(_: Connection, config: Config, *__: object) -> None:
        command.revision(config, message, autogenerate=True, rev_id=revision)

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'revise.db')}"
        await migrations.migrate(url, schema)
        await migrations.run(url, schema, work)


def main() -> None:
    """Read the command line, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("schema", metavar="MODULE:NAME", help="where the schema is")
    parser.add_argument("revision", help="the next number")
    parser.add_argument("message", help="what changes, in a few words")
    options = parser.parse_args()
    asyncio.run(write_revision(resolve_name(options.schema), options.revision, options.message))


if __name__ == "__main__":
    main()
