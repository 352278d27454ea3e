"""One stream of an instance's port, for all who follow it: a thread fills a ring, readers take from it.

The thread reads no further than a ring's length ahead of the reader who is furthest. So what a job has
stored is read at a reader's pace, and a broker is not asked for what nobody takes. A reader who is slower
than that one falls behind the ring.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from restful.jobs.output.ring import Ring

if TYPE_CHECKING:
    from minicluster.instance.port import Stream
    from restful.jobs.output.endings import FeedEnd
    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.limits import StreamLimits

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Subscriber:
    """A reader as its feed knows it: used in the event loop, `position` and `seen` under the feed's lock."""

    position: int
    """The entry that it has read last."""
    wake: asyncio.Event
    """Set when there is something to take, or something has ended."""
    lapsed: asyncio.Event
    """Set when it has taken nothing while too much came."""
    seen: int = 0
    """What the feed had appended when it took last."""


class Feed(Generic[T]):
    """Entries behind `after`, from when the feed is started until its last subscriber has left.

    Its thread calls `reading`, `append` and `finish`; all else is for the event loop in which it was made.
    """

    def __init__(self, after: int, limits: StreamLimits) -> None:
        self.opened = False
        """Whether the instance answers."""
        self.end: FeedEnd | None = None
        """Set once everything was appended."""
        self.closed = threading.Event()
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._ring: Ring[T] = Ring(limits.ring_bytes, after)
        self._changed = threading.Condition()
        self._subscribers: set[Subscriber] = set()
        self._furthest = after
        self._waking = False
        self._stream: Stream[FeedEntry[T]] | None = None

    def join(self, subscriber: Subscriber) -> None:
        """Add a subscriber."""
        with self._changed:
            subscriber.seen = self._ring.total
            self._subscribers.add(subscriber)

    def leave(self, subscriber: Subscriber) -> bool:
        """Remove a subscriber; return whether it was the last one."""
        with self._changed:
            self._subscribers.discard(subscriber)
            self._furthest = max((each.position for each in self._subscribers), default=self._furthest)
            self._changed.notify_all()
            return not self._subscribers

    def take(self, subscriber: Subscriber) -> tuple[FeedEntry[T], ...] | None:
        """Return what a subscriber reads next, perhaps nothing; None where it is behind the ring."""
        with self._changed:
            subscriber.seen = self._ring.total
            if not self._ring.covers(subscriber.position):
                return None
            found = self._ring.behind(subscriber.position, self._limits.batch_bytes)
            if found:
                subscriber.position = found[-1].sequence
            if subscriber.position > self._furthest:
                self._furthest = subscriber.position
                self._changed.notify_all()
            return found

    def close(self) -> Stream[FeedEntry[T]] | None:
        """End the thread's work; return the stream that somebody must close, which may block."""
        with self._changed:
            self.closed.set()
            self._changed.notify_all()
            return self._stream

    def _wake(self) -> None:
        with self._changed:
            self._waking = False
            total, subscribers = self._ring.total, tuple(self._subscribers)
        for each in subscribers:
            if total - each.seen > self._limits.unsent_bytes:
                each.lapsed.set()
            each.wake.set()

    def reading(self, stream: Stream[FeedEntry[T]]) -> bool:
        """Note the stream that is read; False where the feed was closed meanwhile."""
        with self._changed:
            self._stream = stream
            self.opened = True
            self._schedule_wake()
            return not self.closed.is_set()

    def append(self, entry: FeedEntry[T]) -> bool:
        """Add an entry once there is room for it; False where the feed was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed.is_set() or self._has_room(entry.size))
            if self.closed.is_set():
                return False
            self._ring.append(entry)
            self._schedule_wake()
            return True

    def _has_room(self, size: int) -> bool:
        if not self._ring.covers(self._furthest):
            return False
        unread = self._ring.unread(self._furthest)
        return unread == 0 or unread + size <= self._ring.limit

    def finish(self, end: FeedEnd) -> None:
        """Note that there will be no more."""
        with self._changed:
            self.end = end
            self._schedule_wake()

    def _schedule_wake(self) -> None:
        if not self._waking and not self._loop.is_closed():
            self._waking = True
            with contextlib.suppress(RuntimeError):  # the loop was closed between
                self._loop.call_soon_threadsafe(self._wake)
