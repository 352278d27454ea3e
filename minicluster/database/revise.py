"""Write a schema's next revision: what its migrations lack to make the tables that its code has.

    python -m minicluster.database.revise restful.store.schema:SCHEMA 0002 "last use of tokens"

It compares with a new SQLite database that has all revisions so far, and alembic prints the file's name. Read
what it has written, add what becomes of the rows, and format it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from alembic import autogenerate, command
from alembic.migration import MigrationContext
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS

from minicluster.database import migrations, versions

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import Script
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


async def write_revision(schema: Schema, revision: str, message: str) -> Path:
    """Write a further revision into the schema's package, and return its file."""

    def work(connection: Connection, config: Config, *_: object) -> Path:
        # Conditions of indices become text, in which `user`, unless quoted, is a function of PostgreSQL's.
        names = connection.dialect.identifier_preparer
        names.reserved_words = set(names.reserved_words) | RESERVED_WORDS
        written = command.revision(config, message, autogenerate=True, rev_id=revision)
        return Path(cast("Script", written).path)

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'revise.db')}"
        await migrations.migrate(url, schema)
        file: Path = await migrations.run(url, schema, work)
    versions.known.cache_clear()
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(each for each in lines if "# ###" not in each), encoding="utf-8")
    return file


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
