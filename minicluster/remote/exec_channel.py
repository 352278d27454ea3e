"""A command in a far pod as a channel: passes what an event loop receives to a thread that waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from minicluster.instance.links.lines import STOP_TIMEOUT
from minicluster.kube_client.errors import UserError
from minicluster.kube_client.exec_stream import STDERR

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from minicluster.kube_client.exec_stream import ExecStream

STDERR_TAIL = 2000


class ExecChannel:
    """The thread's side of the channel."""

    def __init__(self, stream: ExecStream) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._errors = b""
        self._over = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self.lost: UserError | None = None
        """Why the connection broke off, where it did."""

    @contextlib.asynccontextmanager
    async def carried(self) -> AsyncIterator[None]:
        """Pass output to the thread within the block; afterwards the channel is at its end."""
        self._task = asyncio.ensure_future(self._carry())
        try:
            yield
        finally:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _carry(self) -> None:
        rest = b""
        try:
            async for channel, data in self._stream.output():
                if channel == STDERR:
                    self._errors = (self._errors + data)[-STDERR_TAIL:]
                    continue
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._lines.put(line)
        except UserError as error:
            self.lost = error
        finally:
            self._over.set()
            self._lines.put(None)

    def write(self, data: bytes) -> None:
        """Send."""
        if self._over.is_set():
            raise BrokenPipeError
        try:
            asyncio.run_coroutine_threadsafe(self._stream.send(data), self._loop).result()
        except UserError as error:
            raise ConnectionError(str(error)) from error

    def lines(self) -> Generator[bytes]:
        """Yield each line that the command writes."""
        while (line := self._lines.get()) is not None:
            yield line

    def how_ended(self) -> str:
        """Return how the command ended, with the end of what it wrote to standard error."""
        self._over.wait(STOP_TIMEOUT)
        if self.lost is not None:
            return str(self.lost)
        words = self._errors.decode(errors="replace").strip()
        code = self._stream.exit_code
        if code is None:
            return "this connection was closed"
        return words or f"the relay beside its lead broker ended with {code}"

    def close(self) -> None:
        """Hang up; the command reads the end of its input, and ends."""
        if self._task is not None and not self._over.is_set():
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._over.wait(STOP_TIMEOUT)
