"""Threads that each call the broker for one stream at a time, or for one request that takes long."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from minicluster.broker_link.link_thread import LinkThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.broker_link.link import LeadLink
    from minicluster.broker_link.outgoing_lines import OutgoingLines
    from minicluster.broker_link.served_stream import ServedStream

IDLE_THREADS = 4
"""So many are kept for the next stream."""


class OwnThread(LinkThread):
    """The thread of one stream at a time, which is read only while its client has credit."""

    def __init__(
        self, connect: Callable[[], LeadLink], outbox: OutgoingLines, broke: Callable[[Exception], None]
    ) -> None:
        self.stream: ServedStream | None = None
        super().__init__(connect, lambda: not outbox.is_full and self._has_room(), broke)

    def _has_room(self) -> bool:
        return self.stream is None or self.stream.has_room


class OwnThreads:
    """So many of them at a time as `limit`."""

    def __init__(
        self,
        connect: Callable[[], LeadLink],
        outbox: OutgoingLines,
        broke: Callable[[Exception], None],
        limit: int,
    ) -> None:
        self._connect = connect
        self._outbox = outbox
        self._broke = broke
        self._limit = limit
        self._lock = threading.Lock()
        self._idle: list[OwnThread] = []
        self._threads: set[OwnThread] = set()

    @property
    def limit_words(self) -> str:
        """Return why there is no further thread."""
        return f"{self._limit} streams of this kind are open, which is the limit"

    def take(self, stream: ServedStream | None) -> OwnThread | None:
        """Return a thread for a stream, or for what is none; None: there are too many."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
            if idle is None and len(self._threads) >= self._limit:
                return None
            thread = idle or OwnThread(self._connect, self._outbox, self._broke)
            self._threads.add(thread)
            thread.stream = stream
        if idle is None:
            thread.start()
        return thread

    def give_back(self, thread: OwnThread) -> None:
        """Keep a thread whose stream has ended, or end it."""
        with self._lock:
            thread.stream = None
            if len(self._idle) < IDLE_THREADS:
                self._idle.append(thread)
                return
            self._threads.discard(thread)
        thread.close()

    def all(self) -> tuple[OwnThread, ...]:
        """Return those that there are."""
        with self._lock:
            return tuple(self._threads)

    def drained(self) -> None:
        """Read on: the outbox has room again."""
        for each in self.all():
            each.wake()
