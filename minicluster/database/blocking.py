"""Transactions of a driver that blocks: each in one thread, from its beginning to its commit.

An asynchronous driver for SQLite changes threads several times a statement. Where many requests are under way
each change waits for the interpreter, so that a transaction of ten statements takes ten times as long.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar, cast

from minicluster.database.engines import connecting

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Coroutine

    from sqlalchemy import Connection, CursorResult, Dialect, Engine, Executable, ScalarResult
    from sqlalchemy.ext.asyncio import AsyncConnection

    TransactionWork = Callable[[AsyncConnection], Coroutine[Any, Any, "T"]]

T = TypeVar("T")


class Abandoned(Exception):  # noqa: N818 - named for what happened
    """Nobody waits for a transaction any more: nothing of it is in the database."""


class BlockingConnection:
    """What a transaction's function uses of an AsyncConnection, over one that blocks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def dialect(self) -> Dialect:
        """The dialect."""
        return self._connection.dialect

    @property
    def info(self) -> dict[Any, Any]:
        """What is noted of the connection."""
        return self._connection.info

    async def execute(self, statement: Executable, parameters: Any = None) -> CursorResult[Any]:
        """Return the result of a statement."""
        return self._connection.execute(statement, parameters)

    async def scalars(self, statement: Executable, parameters: Any = None) -> ScalarResult[Any]:
        """Return the first column of the result of a statement."""
        return self._connection.scalars(statement, parameters)


def transaction(
    engine: Engine, database: str, work: TransactionWork[T], info: dict[str, Any], abandoned: threading.Event
) -> T:
    """Return what a function returns, as one transaction with `info` at its connection.

    This blocks. Raises what the function raises, DatabaseError, and Abandoned if that was set meanwhile.
    """
    with contextlib.ExitStack() as stack:
        with connecting(database):
            connection = stack.enter_context(engine.connect())
        with connection.begin():
            connection.info.update(info)
            found = _result(work(cast("AsyncConnection", BlockingConnection(connection))))
            if abandoned.is_set():
                raise Abandoned
        return found


def _result(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as ended:
        return cast("T", ended.value)
    work.close()
    raise RuntimeError("a transaction awaits nothing but its connection")
