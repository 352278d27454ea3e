"""Lines on their way to one client, which several threads write and one sends."""

from __future__ import annotations

import json
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import JSON

FULL_BYTES = 4 << 20
"""Above it nothing more is read for this client, neither from the broker nor from itself."""


class OutgoingLines:
    """Lines that wait to be sent. `wake` is called when there are some again, by who wrote one."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._lines: deque[bytes] = deque()
        self._was_full = False
        self.size = 0
        """Bytes."""

    @property
    def is_full(self) -> bool:
        """Whether its client is too far behind."""
        return self.size >= FULL_BYTES

    def put(self, answer: JSON) -> None:
        """Add a line."""
        line = json.dumps(answer).encode("ascii") + b"\n"
        with self._lock:
            was_empty = not self.size
            self._lines.append(line)
            self.size += len(line)
            self._was_full = self._was_full or self.is_full
        if was_empty:
            self._wake()

    def has_drained(self) -> bool:
        """Return whether it has room again since it was full, once each time.

        It may become full and have room again while its sender sends: who is to read on waits for this.
        """
        with self._lock:
            drained = self._was_full and not self.is_full
            if drained:
                self._was_full = False
        return drained

    def refuse(self, number: int, errnum: int, text: str) -> None:
        """Add the refusal of a request, by its number."""
        self.put({"id": number, "errnum": errnum, "errstr": text})

    def take(self, least: int) -> bytes:
        """Return the first lines, `least` bytes of them or a little more, or all that there are."""
        taken = []
        length = 0
        with self._lock:
            while self._lines and length < least:
                taken.append(self._lines.popleft())
                length += len(taken[-1])
            self.size -= length
        return b"".join(taken)
