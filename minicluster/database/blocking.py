"""Transactions of a driver that blocks: each in one thread, from its beginning to its commit.

An asynchronous driver for SQLite changes threads several times a statement. Where many requests are under way
each change waits for the interpreter, so that a transaction of ten statements takes ten times as long.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

from minicluster.database.channels import CHANGED
from minicluster.database.engines import connecting
from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

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


class TransactionPart:
    """A function that has a transaction, and what came of it."""

    def __init__(self, function: TransactionWork[Any]) -> None:
        self.function = function
        self.abandoned = threading.Event()
        """Nobody waits for it any more."""
        self.changed: set[str] = set()
        """The channels that it has announced changes of."""
        self.found: Any = None
        """What it has returned."""
        self.error: Exception | None = None
        """What it has raised."""

    def run(self, connection: Connection) -> None:
        """Do it. Raises what the function raises, and Abandoned."""
        connection.info[CHANGED] = self.changed
        self.found = _result(self.function(cast("AsyncConnection", BlockingConnection(connection))))
        if self.abandoned.is_set():
            raise Abandoned

    def run_beside_others(self, connection: Connection) -> None:
        """Do it so that what it raises undoes this alone; raise DatabaseError where all of them are over."""
        savepoint = connection.begin_nested()
        try:
            self.run(connection)
        except DatabaseError:
            raise
        except Exception as error:  # noqa: BLE001 - who waits for it gets it
            savepoint.rollback()
            self.error = error
        else:
            savepoint.commit()


def transaction(engine: Engine, database: str, works: Sequence[TransactionPart]) -> None:
    """Do several works in one transaction, one after the other; each keeps what came of it.

    This blocks. Raises DatabaseError, and what a single one raises: then there is nothing in the database.
    """
    with contextlib.ExitStack() as stack:
        with connecting(database):
            connection = stack.enter_context(engine.connect())
        with connection.begin():
            for each in works:
                if len(works) == 1:
                    each.run(connection)
                else:
                    each.run_beside_others(connection)


def reading(engine: Engine, database: str, work: TransactionWork[T]) -> T:
    """Return what a function returns that sees one state of the database throughout.

    This blocks. Raises DatabaseError, and what the function raises.
    """
    with contextlib.ExitStack() as stack:
        with connecting(database):
            connection = stack.enter_context(engine.connect())
        with connection.begin():
            connection.exec_driver_sql("BEGIN")  # such an engine begins nothing by itself
            return _result(work(cast("AsyncConnection", BlockingConnection(connection))))


def _result(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as ended:
        return cast("T", ended.value)
    work.close()
    raise RuntimeError("a transaction awaits nothing but its connection")
