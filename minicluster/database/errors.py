"""The errors of a database.

DatabaseError        the database cannot be used as it is: no database, damaged, read-only, a wrong URL
├── DatabaseAway     it cannot be used now: connection lost, server ended, locked for too long
├── DatabaseFull     there is no room left for it
├── SchemaUnknown    its tables are those of another release
├── DatabaseUrlInvalid  its URL was given in a way that cannot be read, or that others see
└── StateDirectoryUnusable  its directory cannot be made, or others may enter it

Each message names the database, without a password, and what to do. What a statement may cause, such as
`sqlalchemy.exc.IntegrityError`, stays as SQLAlchemy raises it.
"""

from __future__ import annotations


class DatabaseError(Exception):
    """The database cannot be used as it is."""


class DatabaseAway(DatabaseError):  # noqa: N818 - named for what happened
    """The database cannot be used now; later it may be. Whether a commit under way succeeded is not known."""


class DatabaseFull(DatabaseError):  # noqa: N818 - named for what happened
    """There is no room left for the database; what was being written is not in it."""


class SchemaUnknown(DatabaseError):  # noqa: N818 - named for what happened
    """The tables are those of a newer release, of an older one that was not migrated, or not there."""


class StateDirectoryUnusable(DatabaseError):  # noqa: N818 - named for the state it reports
    """The directory of a database cannot be made, or is not its user's alone."""


class DatabaseUrlInvalid(DatabaseError):  # noqa: N818 - named for the state it reports
    """The URL of a database cannot be read from its file, or has a password that others see."""
