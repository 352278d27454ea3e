"""A streaming request at the far end of a link in lines; its credit is the items that its reader can take."""

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
    """Buffers the items of one request until its reader has room for them.

    The source of the items calls `item` and `stop`; lines of the reader become `credit` and `cancel`. Lines
    to the reader go to `answer`: {"id", "payload"} for an item, {"id", "errnum", "errstr"} for the end.
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
        """Whether the reader has room for more."""
        return self._credit > 0 and not self.ended

    @property
    def is_stopped(self) -> bool:
        """Whether there will be no more items."""
        return self._end is not None

    def item(self, payload: Any) -> None:
        """Add an item."""
        self._buffer.append(payload)
        self._send()

    def append(self, event: str, most: int) -> bool:
        """Add to the event of the last item that waits; False: none waits, or it would have over `most`."""
        last = self._buffer[-1].get("event") if self._buffer else None
        if not last or len(last) + len(event) > most:
            return False
        self._buffer[-1]["event"] = last + event
        return True

    def stop(self, errnum: int, text: str = "") -> None:
        """End the stream for this reason. The reader receives it after the buffered items."""
        self._end = {"errnum": errnum, "errstr": text or os.strerror(errnum)}
        self._send()

    def credit(self, more: int) -> None:
        """Allow `more` further items to be sent."""
        self._credit += more
        self._send()

    def cancel(self) -> None:
        """End the stream; its reader receives ENODATA at once."""
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
