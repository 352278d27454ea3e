"""Threads for calls that block: a few a cluster, so that one broker that hangs stops nobody else.

Not those of `concurrent.futures`: these are daemons, as a call that a dead broker never answers must not keep
the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from restful.errors import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def apart(function: Callable[[], object]) -> threading.Thread:
    """Call what may block in a thread of its own, and return that; the process may end before it does.

    What the function raises is lost: it gives up what failed already.
    """

    def call() -> None:
        with contextlib.suppress(Exception):
            function()

    thread = threading.Thread(target=call, name="hanging up", daemon=True)
    thread.start()
    return thread


class ThreadCall(NamedTuple):
    """A call, and who waits for it."""

    function: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[Any]

    def run(self) -> None:
        """Call it, and hand over the result."""
        try:
            found, error = self.function(), None
        except BaseException as raised:  # noqa: BLE001 - who waits gets it
            found, error = None, raised
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self.loop.call_soon_threadsafe(self._deliver, found, error)

    def _deliver(self, found: Any, error: BaseException | None) -> None:
        if self.result.done():
            return
        if error is None:
            self.result.set_result(found)
        elif isinstance(error, StopIteration):
            self.result.set_exception(RuntimeError("a call ended with StopIteration"))
        else:
            self.result.set_exception(error)


class Threads:
    """At most `size` threads, made as they are needed, and at most `waiting` calls that wait for one."""

    def __init__(self, name: str, size: int, waiting: int) -> None:
        self._name = name
        self._size = size
        self._limit = size + waiting
        self._tasks: queue.SimpleQueue[ThreadCall | None] = queue.SimpleQueue()
        self._count = 0
        self._under_way = 0
        self._closed = False

    def start(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Call a function in a thread; the future is that of its result. Raises HttpProblem "busy"."""
        if self._closed or self._under_way >= self._limit:
            raise HttpProblem("busy", f"{self._under_way} calls to {self._name} are under way; try again")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        result.add_done_callback(self._done)
        self._under_way += 1
        self._tasks.put(ThreadCall(function, loop, result))
        if self._count < min(self._size, self._under_way):
            self._count += 1
            threading.Thread(target=self._work, name=f"{self._name} {self._count}", daemon=True).start()
        return result

    def _done(self, result: asyncio.Future[Any]) -> None:
        self._under_way -= 1
        if not result.cancelled():
            result.exception()  # somebody who stopped waiting does not want it

    async def run(self, function: Callable[[], T], seconds: float) -> T:
        """Return what a function returns. Raises problem "busy", and TimeoutError: the call goes on then."""
        return await asyncio.wait_for(asyncio.shield(self.start(function)), seconds)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()
            del task

    def close(self) -> None:
        """Have the threads end once they are idle."""
        self._closed = True
        for _ in range(self._count):
            self._tasks.put(None)
