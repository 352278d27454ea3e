"""A task's pipes on the loop: output in lines of bounded length, input with backpressure."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

READ_SIZE = 1 << 18  # each piece is a message and a transaction: few large ones are faster
_LINE_LIMIT = 1 << 16  # a line that is longer goes on in pieces


class OutputPump:
    """Reads one pipe. `emit(data)` receives whole lines (a very long one in parts); `ended()` follows."""

    def __init__(self, descriptor: int, emit: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._emit = emit
        self._ended = ended
        self._line = b""
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        with contextlib.suppress(OSError):  # over the user's limit for pipes
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_SIZE)
        self.resume()

    def pause(self) -> None:
        """Read no more for now, so that the task blocks once its pipe is full."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)

    def resume(self) -> None:
        """Read on."""
        if self._descriptor >= 0:
            self._loop.add_reader(self._descriptor, self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._descriptor, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        else:
            self._cut(data)

    def _cut(self, data: bytes) -> None:
        end = data.rfind(b"\n") + 1
        if end:
            whole, self._line = self._line + data[:end], data[end:]
            self._emit(whole)
        else:
            self._line += data
        if len(self._line) >= _LINE_LIMIT:
            line, self._line = self._line, b""
            self._emit(line)

    def close(self) -> None:
        """Emit an unfinished last line, and end the stream."""
        if self._descriptor >= 0:
            self.pause()
            os.close(self._descriptor)
            self._descriptor = -1
            if self._line:
                self._emit(self._line)
            self._ended()


class InputFeed:
    """Writes one pipe; each piece's `written()` is called once the task took it, or closed the pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: deque[tuple[memoryview, Callable[[], None]]] = deque()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)

    def write(self, data: bytes, written: Callable[[], None], *, eof: bool) -> None:
        """Queue a piece; with `eof` the pipe is closed after it."""
        self._closing = self._closing or eof
        self._queue.append((memoryview(data), written))
        if len(self._queue) == 1:
            self._writable()

    def _writable(self) -> None:
        while self._queue:
            data, written = self._queue[0]
            try:
                count = os.write(self._descriptor, data) if data and self._descriptor >= 0 else len(data)
            except BlockingIOError:
                count = 0
            except OSError:  # the task closed its end
                count = len(data)
            if count < len(data):
                self._queue[0] = (data[count:], written)
                self._loop.add_writer(self._descriptor, self._writable)
                return
            self._queue.popleft()
            written()
        if self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
            if self._closing:
                self.close()

    def close(self) -> None:
        """Close the pipe; pieces still queued count as written."""
        if self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
        queued, self._queue = self._queue, deque()
        for _data, written in queued:
            written()
