"""SQLite in a file: a write-ahead log, one connection that writes and several that read.

Readers never wait for the writer. The writer waits for those of other processes, up to LOCK_TIMEOUT.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from minicluster.database import driver_errors
from minicluster.database.engines import Engines
from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.ext.asyncio import AsyncEngine
    from sqlalchemy.pool import ConnectionPoolEntry

READERS = 8
"""Connections that read, each with a thread of its own: more gain nothing on a few cores."""

_PRAGMAS = (
    "synchronous=FULL",  # a commit that was answered is there after a power failure
    "foreign_keys=ON",
    "trusted_schema=OFF",  # what a file brings along calls nothing
)
_UNCHECKED = ("synchronous=FULL", "foreign_keys=OFF")
"""For migrations: a table that is made anew would take with it what refers to the old one."""


def prepare(path: Path) -> None:
    """Make a file, 0600, with its directories, 0700, or see to those of one that is there.

    Raises DatabaseError where that cannot be, or where the file is none of SQLite. This blocks.
    """
    try:
        _make(path)
        path.chmod(0o600)
    except PermissionError as error:
        if not path.exists():
            raise _unusable(path, error) from None
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        _log_ahead(path)
    except sqlite3.Error as error:
        raise driver_errors.meaning(error, f"sqlite:///{path}", writes=True) or error from error


def _make(path: Path) -> None:
    for folder in reversed(path.absolute().parents):
        if not folder.exists():
            folder.mkdir(0o700, exist_ok=True)
    # One that is there is not opened: closing it would give up the locks that this process has on it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def _unusable(path: Path, error: OSError) -> DatabaseError:
    return DatabaseError(f"the database sqlite:///{path} cannot be made: {error.strerror}: {error.filename}")


def _log_ahead(path: Path) -> None:
    """Give the file a write-ahead log, which it keeps. Two who do it at once do not wait for each other."""
    deadline = time.monotonic() + driver_errors.LOCK_TIMEOUT
    while True:
        with contextlib.closing(sqlite3.connect(path, timeout=driver_errors.LOCK_TIMEOUT)) as connection:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            else:
                return
        time.sleep(0.01)


def engines(path: Path, lock_timeout: float = driver_errors.LOCK_TIMEOUT) -> Engines:
    """Return what reads and writes a file that was prepared; it is opened at the first use."""
    return Engines(
        reader=_engine(path, READERS, "BEGIN", (*_PRAGMAS, "query_only=ON"), lock_timeout),
        writer=_engine(path, 1, "BEGIN IMMEDIATE", _PRAGMAS, lock_timeout),
        lock_timeout=lock_timeout,
        blocking=_blocking(path, READERS, "", (*_PRAGMAS, "query_only=ON"), lock_timeout),
        blocking_writer=_blocking(path, 1, "BEGIN IMMEDIATE", _PRAGMAS, lock_timeout),
        immediate=_blocking(path, 1, "", (*_PRAGMAS, "query_only=ON"), 0.0),
    )


def migrating(path: Path, lock_timeout: float) -> AsyncEngine:
    """Return what migrates a file: its transactions write, and do not check foreign keys."""
    return _engine(path, 1, "BEGIN IMMEDIATE", _UNCHECKED, lock_timeout)


def violated(connection: Connection) -> list[str]:
    """Return the tables with a row that refers to one which is not there."""
    return sorted({str(row[0]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check")})


def _blocking(
    path: Path, connections: int, begin: str, pragmas: tuple[str, ...], lock_timeout: float
) -> Engine:
    """Return what reads or writes in the thread that calls it; what reads needs no transaction."""
    url = URL.create("sqlite+pysqlite", database=str(path))
    engine = create_engine(url, **_options(connections, lock_timeout))
    _configure(engine, begin, pragmas)
    return engine


def _options(connections: int, lock_timeout: float) -> dict[str, Any]:
    return {
        "pool_size": connections,
        "max_overflow": 0,
        "pool_timeout": lock_timeout,
        "hide_parameters": True,  # an error's text would have them
        # Without isolation_level=None the driver begins transactions itself, and none for a SELECT.
        "connect_args": {"timeout": lock_timeout, "isolation_level": None},
    }


def _configure(engine: Engine, begin: str, pragmas: tuple[str, ...]) -> None:
    @event.listens_for(engine, "connect")
    def configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for each in pragmas:
            cursor.execute(f"PRAGMA {each}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        if begin:
            connection.exec_driver_sql(begin)


def _engine(
    path: Path, connections: int, begin: str, pragmas: tuple[str, ...], lock_timeout: float
) -> AsyncEngine:
    url = URL.create("sqlite+aiosqlite", database=str(path))
    engine = create_async_engine(url, **_options(connections, lock_timeout))
    _configure(engine.sync_engine, begin, pragmas)
    return engine
