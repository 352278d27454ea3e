"""Functions that write, on SQLite: those that wait at once have one transaction, and one commit.

A commit waits for the disk, and there is one at a time. What many clients submit at once would take as many,
one after the other; together they take the time of one. Each function has a savepoint of its own: what one
raises undoes what it has written, and nothing of the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from minicluster.database.blocking import TransactionPart, transaction
from minicluster.database.engines import in_use
from minicluster.database.errors import DatabaseAway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Engine

    from minicluster.database.blocking import TransactionWork
    from minicluster.database.channels import Channels

T = TypeVar("T")
MAX_TOGETHER = 64
"""Functions in a transaction: others of this process who write wait for it."""


class _Waiting:
    """A function, and who waits for what it returns."""

    def __init__(self, work: TransactionWork[Any], deadline: float) -> None:
        self.work = TransactionPart(work)
        self.deadline = deadline
        """By the loop's clock, until it has its turn."""
        self.end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def finish(self, error: BaseException | None = None) -> None:
        """Tell who waits what came of it: `error`, or what its work has."""
        error = error or self.work.error
        if error is None:
            self.end.set_result(self.work.found)
        else:
            self.end.set_exception(error)


class GroupCommit:
    """Commits for all of this process; while it does, others gather for the next time."""

    def __init__(self, engine: Engine, database: str, lock_timeout: float, channels: Channels) -> None:
        self._engine = engine
        self._database = database
        self._turn = asyncio.Lock()
        self._lock_timeout = lock_timeout
        self._channels = channels
        self._thread = ThreadPoolExecutor(1, "database")
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    async def run(self, work: TransactionWork[T]) -> T:
        """Return what a function returns, once that is committed.

        After a cancellation there is nothing of it, unless it was over. Raises what the function raises, and
        DatabaseError.
        """
        if self._is_closed:
            raise RuntimeError(f"the database {self._database} is closed")
        mine = _Waiting(work, self._deadline())
        self._waiting.append(mine)
        if self._task is None:
            self._task = asyncio.create_task(self._commit_all())
        try:
            return cast("T", await asyncio.shield(mine.end))
        except asyncio.CancelledError:
            mine.work.abandoned.set()
            with suppress(ValueError):
                self._waiting.remove(mine)
                raise  # it had not begun
            await asyncio.wait([mine.end])
            mine.end.exception()  # whether it was committed is all that is left of it
            raise

    @asynccontextmanager
    async def alone(self, deadline: float | None = None) -> AsyncIterator[None]:
        """Let nobody else of this process write, for the block. Raises DatabaseAway at `deadline`."""
        try:
            async with asyncio.timeout_at(deadline or self._deadline()):
                await self._turn.acquire()
        except TimeoutError:
            raise in_use(self._database) from None
        try:
            yield
        finally:
            self._turn.release()

    async def close(self) -> None:
        """Commit what waits, and take no more."""
        self._is_closed = True
        if self._task is not None:
            await asyncio.wait([self._task])
        self._thread.shutdown(wait=False)

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._lock_timeout

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                await self._commit_some()
        finally:
            self._task = None
            while self._waiting:  # the loop ends
                self._waiting.popleft().end.cancel()

    async def _commit_some(self) -> None:
        """Commit the functions that wait, once this process writes nothing else."""
        try:
            async with self.alone(self._waiting[0].deadline):
                count = min(len(self._waiting), MAX_TOGETHER)
                await self._commit([self._waiting.popleft() for _ in range(count)])
        except DatabaseAway:
            now = asyncio.get_running_loop().time()
            while self._waiting and self._waiting[0].deadline <= now:
                self._waiting.popleft().finish(in_use(self._database))

    async def _commit(self, together: list[_Waiting]) -> None:
        works = [each.work for each in together]
        running = asyncio.get_running_loop().run_in_executor(
            self._thread, transaction, self._engine, self._database, works
        )
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:  # the loop ends
            for each in works:
                each.abandoned.set()
            await asyncio.wait([running])
            raise
        finally:
            self._wake(together, running.exception())

    def _wake(self, together: list[_Waiting], error: BaseException | None) -> None:
        """Wake all who wait, for what they have written or for what came of it."""
        for each in together:
            if error is None and each.work.error is None:
                self._channels.change(each.work.changed)
            each.finish(error)
