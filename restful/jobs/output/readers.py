"""Who follows a feed, in the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Generic, TypeVar

from restful.errors import HttpProblem
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.feed import Subscriber

if TYPE_CHECKING:
    from collections.abc import Callable

    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.feed import Feed

T = TypeVar("T")


class _Own(Generic[T]):
    """A feed for one reader, who is behind the ring of the one that he follows."""

    def __init__(self, feed: Feed[T], behind: Subscriber) -> None:
        self.feed = feed
        self.subscriber = Subscriber(behind.position, behind.wake, behind.lapsed)
        feed.join(self.subscriber)


class Reader(Generic[T]):
    """One who follows a feed. What was missed there is read by a feed of its own."""

    def __init__(
        self,
        feed: Feed[T],
        open_own: Callable[[int], Feed[T]],
        release: Callable[[Feed[T]], None],
        after: int,
    ) -> None:
        self.end: FeedEnd | None = None
        """Why `batch` has returned None."""
        self._feed = feed
        self._own: _Own[T] | None = None
        self._open_own = open_own
        self._release = release
        self._subscriber = Subscriber(after, asyncio.Event(), asyncio.Event())
        feed.join(self._subscriber)

    async def lapsed(self) -> None:
        """Wait until this reader is so slow that its stream is to be ended."""
        await self._subscriber.lapsed.wait()

    async def opened(self, timeout: float) -> bool:
        """Wait until the instance has answered, or the feed has ended; False where that takes too long."""
        try:
            async with asyncio.timeout(timeout):
                while not (self._feed.opened or self._feed.end or self.end):
                    await self._subscriber.wake.wait()
                    self._subscriber.wake.clear()
        except TimeoutError:
            return False
        finally:
            self._subscriber.wake.set()
        return True

    @property
    def failure(self) -> FeedEnd | None:
        """How the feed ended, where it did."""
        return self.end or self._feed.end

    async def batch(self, timeout: float) -> tuple[FeedEntry[T], ...] | None:
        """Wait for the next entries; none where `timeout` seconds pass without. None: that was all."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    self._subscriber.wake.clear()
                    found = self._take()
                    if found or self.end is not None:
                        return found or None
                    await self._subscriber.wake.wait()
        return ()

    def _take(self) -> tuple[FeedEntry[T], ...]:
        if self.end is not None:
            return ()
        end = self._feed.end  # read before what it comes behind
        found = self._feed.take(self._subscriber)
        if found is None:
            return self._take_own()
        self._close_own()
        if not found:
            self.end = end
        return found

    def _take_own(self) -> tuple[FeedEntry[T], ...]:
        if self._own is None:
            try:
                own = self._open_own(self._subscriber.position)
            except HttpProblem:  # there are too many already: who comes again begins where he was
                self.end = FeedEnd(EndReason.AWAY)
                return ()
            self._own = _Own(own, self._subscriber)
        end = self._own.feed.end
        found = self._own.feed.take(self._own.subscriber) or ()
        self._subscriber.position = self._own.subscriber.position
        if not found:
            self.end = end
        return found

    def finish(self, end: FeedEnd) -> None:
        """End this reader's stream."""
        self.end = self.end or end
        self._subscriber.wake.set()

    def close(self) -> None:
        """Leave, and end what nobody follows any more."""
        self._close_own()
        if self._feed.leave(self._subscriber):
            self._release(self._feed)

    def _close_own(self) -> None:
        if self._own is not None:
            self._own.feed.leave(self._own.subscriber)
            self._release(self._own.feed)
            self._own = None
