"""All feeds of the service: one for each job that somebody follows, with a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from restful.errors import HttpProblem
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.feed import Feed
from restful.jobs.output.pump import pump
from restful.jobs.output.readers import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from restful.jobs.output.limits import StreamLimits
    from restful.jobs.output.pump import Source

T = TypeVar("T")


class Hub:
    """The feeds by what they follow, such as ("output", cluster, job). For one event loop."""

    def __init__(self, limits: StreamLimits) -> None:
        self.limits = limits
        self._feeds: dict[Hashable, Feed[Any]] = {}
        self._readers: set[Reader[Any]] = set()
        self._threads: dict[str, set[threading.Thread]] = {}
        self._closed = False

    @property
    def feeds(self) -> int:
        """How many jobs are followed."""
        return len(self._feeds)

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def threads(self) -> int:
        """How many threads there are that read, or that end a stream."""
        return sum(map(self._alive, tuple(self._threads)))

    def _alive(self, owner: str) -> int:
        """Return how many threads there are for an owner's clusters."""
        alive = {each for each in self._threads.get(owner, ()) if each.is_alive()}
        self._threads[owner] = alive
        if not alive:
            del self._threads[owner]
        return len(alive)

    @contextlib.asynccontextmanager
    async def follow(
        self, key: Hashable, source: Source[T], after: int, owner: str = ""
    ) -> AsyncIterator[Reader[T]]:
        """Follow what others who name the same key follow too, behind an entry.

        `owner` is the user whose the cluster is, if it is somebody's own. Raises HttpProblem "busy".
        """
        if self._closed:
            raise HttpProblem(
                "busy", "This service is about to end: try again.", headers={"Retry-After": "2"}
            )
        feed = self._feeds.get(key)
        if feed is None or feed.closed.is_set() or feed.end is not None:
            feed = self._feeds[key] = self._started(source, after, owner)
        try:
            async with self._reader(feed, source, after, owner) as reader:
                yield reader
        finally:
            if self._feeds.get(key) is feed and feed.closed.is_set():
                del self._feeds[key]

    @contextlib.asynccontextmanager
    async def read(self, source: Source[T], after: int, owner: str = "") -> AsyncIterator[Reader[T]]:
        """Read something that nobody else reads. Raises HttpProblem "busy"."""
        async with self._reader(self._started(source, after, owner), source, after, owner) as reader:
            yield reader

    @contextlib.asynccontextmanager
    async def _reader(
        self, feed: Feed[T], source: Source[T], after: int, owner: str
    ) -> AsyncIterator[Reader[T]]:
        reader = Reader(
            feed,
            lambda position: self._started(source, position, owner),
            lambda left: self.release(left, owner),
            after,
        )
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            reader.close()

    def _started(self, source: Source[T], after: int, owner: str) -> Feed[T]:
        self._check(owner)
        feed: Feed[T] = Feed(after, self.limits)
        self._start(owner, pump, feed, source, after, self.limits.reopen_delays)
        return feed

    def _check(self, owner: str) -> None:
        """Raise HttpProblem where there are too many threads for one more."""
        limits = self.limits
        known = len(self._threads.get(owner, ())) if owner else 0
        if known >= limits.threads_of_owner and self._alive(owner) >= limits.threads_of_owner:
            where, most = "this user's clusters", limits.threads_of_owner
        elif sum(map(len, self._threads.values())) >= limits.threads and self.threads >= limits.threads:
            where, most = "instances", limits.threads
        else:
            return
        words = f"{most} threads read from {where}, which is the limit: try again later."
        raise HttpProblem("busy", words, headers={"Retry-After": "10"})

    def release(self, feed: Feed[Any], owner: str = "") -> None:
        """End a feed that nobody follows: its stream by a thread, as a broker that hangs would stop us."""
        stream = feed.close()
        if stream is not None and feed.end is None:
            self._start(owner, stream.close)

    def _start(self, owner: str, work: Callable[..., None], *arguments: Any) -> None:
        """Start a thread with a small stack. The size is that of the process: only the event loop sets it."""
        thread = threading.Thread(target=work, args=arguments, name="live-output", daemon=True)
        before = threading.stack_size(self.limits.stack_bytes)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
        theirs = self._threads.get(owner, ())
        if len(theirs) > 2 * len(self._readers) + 64:
            self._alive(owner)
        self._threads.setdefault(owner, set()).add(thread)

    async def close(self, timeout: float = 5.0) -> None:
        """End all streams, and wait some seconds at most for the threads."""
        self._closed = True
        for reader in tuple(self._readers):
            reader.finish(FeedEnd(EndReason.CLOSED))
        for feed in self._feeds.values():
            self.release(feed)
        deadline = asyncio.get_running_loop().time() + timeout
        while self.threads and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
