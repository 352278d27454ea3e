"""What a driver's error means, in words; pure."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from minicluster.database.errors import DatabaseAway, DatabaseError, DatabaseFull

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK_TIMEOUT = 5.0
"""Seconds that a transaction waits for a lock or a connection: less than most clients wait for an answer."""

_SQLITE: Mapping[int, tuple[type[DatabaseError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseAway, f"was locked by somebody else for {LOCK_TIMEOUT:.0f} s"),
    sqlite3.SQLITE_LOCKED: (DatabaseAway, f"was locked by somebody else for {LOCK_TIMEOUT:.0f} s"),
    sqlite3.SQLITE_NOMEM: (DatabaseAway, "found no memory"),
    sqlite3.SQLITE_FULL: (DatabaseFull, "has no room left: make some on its disk"),
    sqlite3.SQLITE_READONLY: (
        DatabaseError,
        "may not be written: see the rights of the file and its directory",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        DatabaseError,
        "cannot be opened: see its path, and the rights of the directory",
    ),
    sqlite3.SQLITE_PERM: (DatabaseError, "may not be opened: see the rights of the file"),
    sqlite3.SQLITE_NOTADB: (DatabaseError, "is no database of SQLite: name another file"),
    sqlite3.SQLITE_CORRUPT: (DatabaseError, "is damaged: restore a backup"),
    sqlite3.SQLITE_IOERR: (DatabaseError, "cannot be read or written: see the state of its disk"),
}
"""By the primary result code (sqlite.org/rescode.html)."""


def meaning(error: BaseException | None, database: str, *, writes: bool) -> DatabaseError | None:
    """Return what a driver's error means, or None where it is about the statement.

    `writes` is whether the transaction was one that may write: in another one the statement is wrong.
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code not in _SQLITE or (code == sqlite3.SQLITE_READONLY and not writes):
        return None
    kind, words = _SQLITE[code]
    return kind(f"the database {database} {words}")
