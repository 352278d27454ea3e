"""A streaming request at the far end of a link in lines: its reader says how many items it has room for."""

from __future__ import annotations

import errno
import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from minicluster.broker_link.link import JSON


class StreamCall:
    """Holds the items of one request until its reader has room for them.

    Where they come from calls `item` and `stop`; lines of the reader become `credit` and `cancel`. Lines to
    the reader go to `answer`: {"id", "payload"} for an item, {"id", "errnum", "errstr"} for the end.
    """

    def __init__(self, request: JSON, answer: Callable[[JSON], None]) -> None:
        self._number = request["id"]
        self._answer = answer
        self._credit = int(request.get("credit", 1))
        self._buffer: deque[Any] = deque()
        self._end: JSON | None = None
        self.ended = False

    @property
    def buffered(self) -> int:
        """How many items wait for room."""
        return len(self._buffer)

    @property
    def has_room(self) -> bool:
        """Whether the reader wants more."""
        return self._credit > 0 and not self.ended

    @property
    def is_stopped(self) -> bool:
        """Whether there will be no more items."""
        return self._end is not None

    def item(self, payload: Any) -> None:
        """Take an item in."""
        self._buffer.append(payload)
        self._send()

    def stop(self, errnum: int, text: str = "") -> None:
        """Take in why there are no more items; the reader hears it after those that are held."""
        self._end = {"errnum": errnum, "errstr": text or os.strerror(errnum)}
        self._send()

    def credit(self, more: int) -> None:
        """Send up to `more` items besides."""
        self._credit += more
        self._send()

    def cancel(self) -> None:
        """End the stream; its reader hears ENODATA at once."""
        self._buffer.clear()
        self.stop(errno.ENODATA)

    def _send(self) -> None:
        if self.ended:
            return
        while self._buffer and self._credit > 0:
            self._credit -= 1
            self._answer({"id": self._number, "payload": self._buffer.popleft()})
        if self._end is not None and not self._buffer:
            self.ended = True
            self._answer({"id": self._number, **self._end})
