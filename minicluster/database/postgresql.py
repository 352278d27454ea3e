"""PostgreSQL by asyncpg: its options and passwords as libpq has them, transactions, and its news.

A transaction that writes waits for the one of any replica: what it read stays true until its commit, as on
SQLite. Sums, chains and "the last one" need no further locks.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy import event, func, select
from sqlalchemy.ext.asyncio import create_async_engine

from minicluster.database.driver_errors import LOCK_TIMEOUT, meaning
from minicluster.database.engines import Engines
from minicluster.database.errors import DatabaseAway, DatabaseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import asyncpg
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

    from minicluster.database.address import DatabaseUrl

READERS = 8
"""Connections that read; with one that writes and one that listens, ten replicas fit into a server's 100."""
CONNECT_TIMEOUT = 5.0
"""Seconds."""
COMMAND_TIMEOUT = 20.0
"""Seconds for a statement: a server that is stopped, or behind a broken network, does not answer at all."""
_SESSION = {
    "application_name": "minicluster",
    "idle_in_transaction_session_timeout": "30s",  # one that was cut off may have the lock of those who write
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


def engines(url: DatabaseUrl, schema: str, lock_timeout: float = LOCK_TIMEOUT) -> Engines:
    """Return what reads and writes a server's database."""
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    return Engines(
        reader=_engine(url, READERS, lock_timeout, options=options),
        writer=_writer(url, schema, lock_timeout, COMMAND_TIMEOUT),
        lock_timeout=lock_timeout,
    )


def migrating(url: DatabaseUrl, schema: str, lock_timeout: float) -> AsyncEngine:
    """Return what migrates a database: its transactions write, and take their time."""
    return _writer(url, schema, lock_timeout, None)


async def connect(
    url: DatabaseUrl, lock_timeout: float = LOCK_TIMEOUT, command_timeout: float | None = COMMAND_TIMEOUT
) -> asyncpg.Connection:
    """Return a connection; raise DatabaseError."""
    import asyncpg  # noqa: PLC0415 - an extra of its own

    _check_passwords(url)
    settings = {**_SESSION, "lock_timeout": f"{lock_timeout * 1000:.0f}"}
    try:
        return await asyncpg.connect(
            url.dsn, timeout=CONNECT_TIMEOUT, command_timeout=command_timeout, server_settings=settings
        )
    except asyncpg.ClientConfigurationError as error:
        raise DatabaseError(f"the database {url}: an option of its URL is not right: {error}") from None
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise meaning(error, url.public, writes=True) or DatabaseError(
            f"the database {url} refused the connection: {error}"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error) or f"no answer for {CONNECT_TIMEOUT:.0f} s"
        raise DatabaseAway(f"the database {url} cannot be reached: {reason}") from None


def _check_passwords(url: DatabaseUrl) -> None:
    """Raise DatabaseError for a file with passwords that was named, and which the driver would ignore."""
    named = url.options.get("passfile") or os.environ.get("PGPASSFILE")
    if not named:
        return
    try:
        mode = Path(named).stat().st_mode
    except OSError as error:
        raise DatabaseError(f"the file with passwords {named}: {error.strerror}") from None
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise DatabaseError(f"the file with passwords {named} is open to others: chmod 600 {named}")


def _writer(url: DatabaseUrl, schema: str, lock_timeout: float, command_timeout: float | None) -> AsyncEngine:
    # Whatever the server's default: who waited for the lock has to see what was committed meanwhile.
    options = {"isolation_level": "READ COMMITTED"}
    engine = _engine(url, 1, lock_timeout, command_timeout, options)
    key = lock_key(schema)

    @event.listens_for(engine.sync_engine, "begin")
    def wait(connection: Connection) -> None:
        connection.execute(select(func.pg_advisory_xact_lock(key)))

    return engine


def lock_key(schema: str) -> int:
    """Return the number of the advisory lock of those who write tables of a schema, with 63 bits."""
    return int.from_bytes(hashlib.sha256(f"minicluster.{schema}".encode()).digest()[:8]) >> 1


def _engine(
    url: DatabaseUrl,
    connections: int,
    lock_timeout: float,
    command_timeout: float | None = COMMAND_TIMEOUT,
    options: Mapping[str, object] = MappingProxyType({}),
) -> AsyncEngine:
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: connect(url, lock_timeout, command_timeout),
        pool_size=connections,
        max_overflow=0,
        pool_timeout=lock_timeout,
        pool_pre_ping=True,  # a server that started again costs no request
        hide_parameters=True,  # an error's text would have them
        execution_options=options,
    )
