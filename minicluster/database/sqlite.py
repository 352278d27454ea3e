"""SQLite in a file: a write-ahead log, one connection that writes and several that read.

Readers never wait for the writer. The writer waits for those of other processes, up to LOCK_TIMEOUT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import create_async_engine

from minicluster.database.driver_errors import LOCK_TIMEOUT
from minicluster.database.engines import Engines

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.ext.asyncio import AsyncEngine
    from sqlalchemy.pool import ConnectionPoolEntry

READERS = 8
"""Connections that read, each with a thread of its own: more gain nothing on a few cores."""

_PRAGMAS = (
    "journal_mode=WAL",  # stays in the file
    "synchronous=FULL",  # a commit that was answered is there after a power failure
    "foreign_keys=ON",
    "trusted_schema=OFF",  # what a file brings along calls nothing
)


def engines(path: Path) -> Engines:
    """Return what reads and writes a file; it is opened at the first use."""
    return Engines(
        reader=_engine(path, READERS, "BEGIN", (*_PRAGMAS, "query_only=ON")),
        writer=_engine(path, 1, "BEGIN IMMEDIATE", _PRAGMAS),
    )


def _engine(path: Path, connections: int, begin: str, pragmas: tuple[str, ...]) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(path)),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=LOCK_TIMEOUT,
        # Without isolation_level=None the driver begins transactions itself, and none for a SELECT.
        connect_args={"timeout": LOCK_TIMEOUT, "isolation_level": None},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        cursor = connection.cursor()
        for each in pragmas:
            cursor.execute(f"PRAGMA {each}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def start(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
