"""What services of this project have their databases by: SQLite in a file, or PostgreSQL by its URL.

A service describes its tables by a `Schema`, and how older ones become these by a package of alembic's
revisions. It opens a `Database` by `open_database`, and reads and writes by SQLAlchemy's Core. This room
imports no other one (decision 0050).
"""

from minicluster.database.database import Database, open_database
from minicluster.database.errors import (
    DatabaseAway,
    DatabaseError,
    DatabaseFull,
    DatabaseUrlInvalid,
    SchemaUnknown,
)
from minicluster.database.given_url import given_url
from minicluster.database.ids import new_id
from minicluster.database.migrations import downgrade, migrate
from minicluster.database.schema import Schema, named_metadata

__all__ = [
    "Database",
    "DatabaseAway",
    "DatabaseError",
    "DatabaseFull",
    "DatabaseUrlInvalid",
    "Schema",
    "SchemaUnknown",
    "downgrade",
    "given_url",
    "migrate",
    "named_metadata",
    "new_id",
    "open_database",
]
