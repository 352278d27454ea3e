"""The work of a feed's thread: open the stream, read it, and open it again where the instance was away."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from minicluster.instance.errors import InstanceError, JobNotFound
from restful.jobs.output.endings import EndReason, FeedEnd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.port import Stream
    from restful.jobs.output.entries import FeedEntry
    from restful.jobs.output.feed import Feed

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedConnection(Generic[T]):
    """What a feed reads by one connection. Both block, and may raise what the port raises."""

    open: Callable[[int], Stream[FeedEntry[T]]]
    """The entries behind a position, as they come."""
    ended: Callable[[], FeedEnd | None]
    """How it ended, once the stream is at its end; None: that was no end."""


Source = Callable[[], FeedConnection[T]]
"""Where the entries of one feed come from: blocks, and may raise what the port raises."""


def pump(feed: Feed[T], source: Source[T], after: int, delays: Sequence[float]) -> None:
    """Read a source into its feed until one of them ends. `delays`: seconds before each further attempt."""
    try:
        end = _Pump(feed, source, after).run(delays)
    except Exception:  # a thread that dies would leave its readers waiting
        log.exception("cannot read what an instance sends")
        end = FeedEnd(EndReason.AWAY)
    if end is not None:
        feed.finish(end)


class _Pump(Generic[T]):
    def __init__(self, feed: Feed[T], source: Source[T], after: int) -> None:
        self._feed = feed
        self._source = source
        self._position = after

    def run(self, delays: Sequence[float]) -> FeedEnd | None:
        """Return how the source ended; None: the feed was closed."""
        waiting = iter(delays)
        while True:
            before = self._position
            end = self._attempt()
            if end is not None or self._feed.closed.is_set():
                return end
            if self._position > before:
                waiting = iter(delays)
            delay = next(waiting, None)
            if delay is None:
                return FeedEnd(EndReason.AWAY)
            if self._feed.closed.wait(delay):
                return None

    def _attempt(self) -> FeedEnd | None:
        """Read up to the end, or until the connection is lost (None)."""
        try:
            attempt = self._source()
            with attempt.open(self._position) as stream:
                if not (self._feed.reading(stream) and self._read(stream)):
                    return None
            return attempt.ended()
        except JobNotFound:
            return FeedEnd(EndReason.GONE)
        except InstanceError as error:
            log.info("will follow again: %s", error)
            return None

    def _read(self, stream: Stream[FeedEntry[T]]) -> bool:
        """Read up to the end; False where the feed was closed."""
        for entry in stream:
            if not self._feed.append(entry):
                return False
            self._position = entry.sequence
            del entry  # it may be large, and the next one may be long in coming
        return not self._feed.closed.is_set()
