"""What a driver's error means, in words; pure."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from minicluster.database.errors import DatabaseAway, DatabaseError, DatabaseFull

if TYPE_CHECKING:
    from collections.abc import Mapping

    Meaning = tuple[type[DatabaseError], str]

LOCK_TIMEOUT = 5.0
"""Seconds that a transaction waits for a lock or a connection: less than most clients wait for an answer."""

_LOCKED = (DatabaseAway, "was locked by somebody else for too long: try again")
_FULL = (DatabaseFull, "has no room left: make some on its disk")
_DAMAGED = (DatabaseError, "is damaged: restore a backup")
_LOST = (DatabaseAway, "cannot be reached: the connection was lost")
_RESTARTS = (DatabaseAway, "is starting or ending: try again")
_NO_MEMORY = (DatabaseAway, "has no memory left")
_NOT_LET_IN = (DatabaseError, "refused the user or the password: see the URL, and the file with passwords")

_SQLITE: Mapping[int, Meaning] = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOMEM: _NO_MEMORY,
    sqlite3.SQLITE_FULL: _FULL,
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
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_IOERR: (DatabaseError, "cannot be read or written: see the state of its disk"),
}
"""By the primary result code (sqlite.org/rescode.html)."""

_POSTGRESQL: Mapping[str, Meaning] = {
    "08": _LOST,
    "25006": (DatabaseAway, "takes no changes: it is a standby"),
    "25P03": (DatabaseAway, "ended a transaction that did nothing for too long"),
    "28": _NOT_LET_IN,
    "3D000": (DatabaseError, "is not there: its server has no database of that name"),
    "40": (DatabaseAway, "undid this for somebody else's change: try again"),
    "42501": (DatabaseError, "refused a right: its user must own the database"),
    "53100": _FULL,
    "53200": _NO_MEMORY,
    "53300": (DatabaseAway, "has no connection left"),
    "55P03": _LOCKED,
    "57P": _RESTARTS,
    "58": (DatabaseError, "cannot be read or written: see the state of its disk"),
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
}
"""By SQLSTATE, or how it begins (PostgreSQL's manual, appendix A)."""


def meaning(error: BaseException | None, database: str, *, writes: bool) -> DatabaseError | None:
    """Return what a driver's error means, or None where it is about the statement.

    `writes` is whether the transaction was one that may write: in another one the statement is wrong.
    """
    found = _of_sqlite(error, writes) if isinstance(error, sqlite3.Error) else _of_postgresql(error, writes)
    if found is None:
        return None
    kind, words = found
    return kind(f"the database {database} {words}")


def _of_sqlite(error: sqlite3.Error, writes: bool) -> Meaning | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return None if code == sqlite3.SQLITE_READONLY and not writes else _SQLITE.get(code)


def _of_postgresql(error: BaseException | None, writes: bool) -> Meaning | None:
    state = getattr(error, "sqlstate", None) or ""
    if state == "25006" and not writes:
        return None
    for length in (5, 3, 2):
        if len(state) == 5 and state[:length] in _POSTGRESQL:
            return _POSTGRESQL[state[:length]]
    if isinstance(error, OSError | EOFError):
        return _LOST
    # The driver's own error has no state where the connection was lost before the statement was sent.
    return _LOST if not state and "closed" in str(error) and "Interface" in type(error).__name__ else None
