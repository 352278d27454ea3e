"""Which revision of its schema a database has, and whether this release can work with that."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from minicluster.database.errors import SchemaUnknown

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from minicluster.database.address import DatabaseUrl
    from minicluster.database.schema import Schema


def configuration(schema: Schema) -> Config:
    """Return what alembic's commands need: where the revisions are, and how they are run."""
    config = Config()
    config.set_main_option("script_location", _folder("minicluster.database.revisions"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", _folder(schema.migrations))
    config.set_main_option("file_template", "v%%(rev)s_%%(slug)s")
    config.attributes["schema"] = schema
    return config


def _folder(package: str) -> str:
    return str(resources.files(package)).replace("%", "%%")


@cache
def known(schema: Schema) -> tuple[str, ...]:
    """Return the revisions of this release, the newest first."""
    script = ScriptDirectory.from_config(configuration(schema))
    return tuple(each.revision for each in script.walk_revisions())


def ours(schema: Schema, name: str | None, kind: str) -> bool:
    """Return whether what a database has is this schema's: another one may be there too."""
    return kind != "table" or name in schema.metadata.tables


def current(connection: Connection, schema: Schema) -> str | None:
    """Return a database's revision; None before its first migration."""
    context = MigrationContext.configure(connection, opts={"version_table": schema.version_table})
    return context.get_current_revision()


def check_file(url: DatabaseUrl, schema: Schema) -> None:
    """Raise SchemaUnknown where SQLite's file is not there; opening it would make an empty one."""
    if known(schema) and not url.path.exists():
        raise SchemaUnknown(f"there is no database {url}: migrate makes it")


def check(connection: Connection, url: DatabaseUrl, schema: Schema) -> None:
    """Raise SchemaUnknown unless a database has the newest revision of this release."""
    revision, revisions = current(connection, schema), known(schema)
    if revision is None and revisions:
        raise SchemaUnknown(f"the database {url} has no tables of {schema.name} yet: migrate makes them")
    refuse_newer(revision, revisions, url, schema)
    if revisions and revision != revisions[0]:
        raise SchemaUnknown(
            f"the database {url} was written by an older release ({schema.name} {revision}; this one needs"
            f" {revisions[0]}), and may not be migrated here: migrate it, or start that release"
        )


def refuse_newer(revision: str | None, revisions: tuple[str, ...], url: DatabaseUrl, schema: Schema) -> None:
    """Raise SchemaUnknown for a revision that this release does not know."""
    if revision is not None and revision not in revisions:
        newest = revisions[0] if revisions else "none"
        raise SchemaUnknown(
            f"the database {url} was written by a newer release ({schema.name} {revision}; this one knows"
            f" {newest}): start that release, or restore a backup"
        )
