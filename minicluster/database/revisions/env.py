"""What alembic runs for each of its commands: a connection with a transaction is given to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import context

from minicluster.database import versions

if TYPE_CHECKING:
    from minicluster.database.schema import Schema

schema: Schema = context.config.attributes["schema"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    version_table=schema.version_table,
    include_name=lambda name, kind, _: versions.ours(schema, name, kind),
    render_as_batch=True,  # SQLite cannot change a column: the table is made anew
)
context.run_migrations()
