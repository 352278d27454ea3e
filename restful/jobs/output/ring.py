"""The latest entries of a feed, up to a number of bytes. No I/O, and no lock: its owner has one."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Generic, TypeVar

from restful.jobs.output.entries import FeedEntry

T = TypeVar("T")

_SEQUENCE = attrgetter("sequence")


class Ring(Generic[T]):
    """Entries behind `floor`, by ascending sequence; the oldest go where they are more than `limit` bytes.

    An entry alone may be larger.
    """

    def __init__(self, limit: int, floor: int) -> None:
        self.limit = limit
        self.floor = floor
        """A reader who has not read up to this one has missed something that is not here any more."""
        self.total = 0
        """Bytes that were ever appended."""
        self._entries: list[FeedEntry[T]] = []
        self._ends: list[int] = []  # of each entry: `total` behind it
        self._first = 0  # what is in front of it in both lists was dropped
        self._dropped = 0

    def append(self, entry: FeedEntry[T]) -> None:
        """Add the next entry; the oldest go."""
        self.total += entry.size
        self._entries.append(entry)
        self._ends.append(self.total)
        while self.total - self._dropped > self.limit and self._first < len(self._entries) - 1:
            self.floor = self._entries[self._first].sequence
            self._dropped = self._ends[self._first]
            self._entries[self._first] = FeedEntry(self.floor, (), 0)  # its items are freed now
            self._first += 1
        if self._first > 64 and self._first * 2 > len(self._entries):
            del self._entries[: self._first], self._ends[: self._first]
            self._first = 0

    def covers(self, position: int) -> bool:
        """Return whether everything behind a position is here."""
        return position >= self.floor

    def unread(self, position: int) -> int:
        """Return how many bytes are behind a position."""
        index = self._index(position)
        return self.total - (self._ends[index - 1] if index > self._first else self._dropped)

    def behind(self, position: int, size: int) -> tuple[FeedEntry[T], ...]:
        """Return the entries behind a position up to about `size` bytes; the first one whatever its size."""
        start = self._index(position)
        before = self._ends[start - 1] if start > self._first else self._dropped
        stop = bisect_right(self._ends, before + size, lo=start)
        return tuple(self._entries[start : max(stop, start + 1)])

    def _index(self, position: int) -> int:
        return bisect_right(self._entries, position, lo=self._first, key=_SEQUENCE)
