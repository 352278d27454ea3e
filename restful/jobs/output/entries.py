"""Entries: what is read, kept and acknowledged as one. No I/O of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from minicluster.instance.port import Stream
    from minicluster.instance.records import Event, OutputChunk

T = TypeVar("T")
S = TypeVar("S")

OVERHEAD = 256
"""Bytes that a record takes besides its data: many short lines are not free."""


@dataclass(frozen=True, slots=True)
class FeedEntry(Generic[T]):
    """One entry of a log. A reader who has all of its items goes on behind `sequence`; before, in front."""

    sequence: int
    """Ascends, with gaps."""
    items: tuple[T, ...]
    size: int
    """About as many bytes as it takes in memory."""


class Entries(Generic[S, T]):
    """A stream of entries, made of another; `decode` returns the entry that an item completes, or None."""

    def __init__(self, source: Stream[S], decode: Callable[[S], FeedEntry[T] | None]) -> None:
        self._source = source
        self._decode = decode

    def __iter__(self) -> Iterator[FeedEntry[T]]:
        return self

    def __next__(self) -> FeedEntry[T]:
        while True:
            entry = self._decode(next(self._source))
            if entry is not None:
                return entry

    def close(self) -> None:
        """End the request."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Grouping:
    """Gathers the chunks of each entry of an output: an entry is whole with its last chunk."""

    def __init__(self) -> None:
        self._chunks: list[OutputChunk] = []

    def __call__(self, chunk: OutputChunk) -> FeedEntry[OutputChunk] | None:
        """Return the entry that this chunk completes."""
        self._chunks.append(chunk)
        if not chunk.last:
            return None
        chunks, self._chunks = tuple(self._chunks), []
        data = {id(each.data): len(each.data) for each in chunks}  # many tasks may have written the same
        return FeedEntry(chunk.sequence, chunks, sum(data.values()) + OVERHEAD * len(chunks))


class Numbering:
    """Counts the events of one eventlog from 0, and leaves out those up to `after`."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._sequence = -1

    def __call__(self, event: Event) -> FeedEntry[Event] | None:
        """Return the event as an entry."""
        self._sequence += 1
        if self._sequence <= self._after:
            return None
        return FeedEntry(self._sequence, (event,), OVERHEAD)


def output_entries(chunks: Stream[OutputChunk]) -> Stream[FeedEntry[OutputChunk]]:
    """Return the output of one job as entries."""
    return Entries(chunks, Grouping())


def event_entries(events: Stream[Event], after: int) -> Stream[FeedEntry[Event]]:
    """Return the eventlog of one job, which begins with its first event, as entries behind `after`."""
    return Entries(events, Numbering(after))
