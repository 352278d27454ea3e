"""The queue of names to reconcile: each is in it once, and failed ones come later each time."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.objects import Name

MIN_RETRY_DELAY = 0.25
MAX_RETRY_DELAY = 60.0
DOUBLINGS = 10  # enough to reach MAX_RETRY_DELAY
# With more than MANY names due, the spacing grows with their number, up to MAX_SPACING_FACTOR times.
MANY = 20
"""With more names due than this the spacing grows with their number."""
MAX_SPACING_FACTOR = 3.0
"""How many times the spacing grows at most."""
TICK = 0.001
QUIET = 0.2
"""Seconds without an urgent name after which the others come."""


class _Entry(NamedTuple):
    """When a name is due, and whether it is urgent."""

    due: float
    name: Name
    urgent: bool


class WorkQueue:
    """Names with the time at which each is due, in seconds of `clock`.

    A name that is added while it is worked on comes again afterwards. A name is urgent if its document has
    changed, or if it was added for a set time. Others have at least `spacing` seconds between two reconciles,
    and up to three times that if many names are due: what was just made changes several times a second.

    Other names wait while urgent ones keep coming, but not longer than `overdue` seconds. So in a burst all
    MiniClusters are made before any of them gets a newer status.
    """

    def __init__(self, clock: Callable[[], float], spacing: float = 1.0, overdue: float = 5.0) -> None:
        self._clock = clock
        self._spacing = spacing
        self._overdue = overdue
        self._due: dict[Name, _Entry] = {}
        self._heaps: dict[bool, list[_Entry]] = {True: [], False: []}
        self._worked_on: set[Name] = set()
        self._last: dict[Name, float] = {}
        self._failures: dict[Name, int] = {}
        self._last_urgent = -QUIET
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, name: Name, delay: float = 0.0) -> None:
        """Add a name, urgent, due in `delay` seconds, or earlier if it was added so before."""
        self._plan(name, delay, urgent=True)

    def add_spaced(self, name: Name) -> None:
        """Add a name, due not sooner than the spacing after its last reconcile."""
        last = self._last.get(name)
        spacing = self._spacing * max(1.0, min(len(self._due) / MANY, MAX_SPACING_FACTOR))
        delay = 0.0 if last is None else max(0.0, last + spacing - self._clock())
        self._plan(name, delay, urgent=False)

    async def take(self) -> Name:
        """Return the next name that is due; it comes again only after `done`. One caller at a time waits."""
        while True:
            entry = self._next()
            wait = entry.due - self._clock() if entry else None
            if entry is not None and wait is not None and wait < TICK:  # shorter waits would be rounded to 0
                if entry.urgent:
                    self._last_urgent = self._clock()
                del self._due[entry.name]
                self._worked_on.add(entry.name)
                return entry.name
            self._changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def done(self, name: Name) -> None:
        """Take in that a name is not worked on any more."""
        self._worked_on.discard(name)
        self._last[name] = self._clock()
        if name in self._due:
            self._push(self._due[name])

    def succeeded(self, name: Name) -> None:
        """Forget earlier failures."""
        self._failures.pop(name, None)

    def failed(self, name: Name, at_least: float = 0.0) -> float:
        """Add a name again, later with each failure in a row; return in how many seconds it is due."""
        count = self._failures.get(name, 0)
        self._failures[name] = count + 1
        delay = max(at_least, min(MIN_RETRY_DELAY * 2.0 ** min(count, DOUBLINGS), MAX_RETRY_DELAY))
        self.add(name, delay)
        return delay

    def failures(self, name: Name) -> int:
        """Return how often in a row a name has failed."""
        return self._failures.get(name, 0)

    def forget(self, name: Name) -> None:
        """Forget a MiniCluster that is gone."""
        for known in (self._due, self._last, self._failures):
            known.pop(name, None)

    def _plan(self, name: Name, delay: float, *, urgent: bool) -> None:
        entry = _Entry(self._clock() + delay, name, urgent)
        known = self._due.get(name)
        if known is not None and known.due <= entry.due:
            entry = known._replace(urgent=known.urgent or urgent)
        elif known is not None:
            entry = entry._replace(urgent=known.urgent or urgent)
        if entry != known:
            self._push(entry)

    def _push(self, entry: _Entry) -> None:
        self._due[entry.name] = entry
        heapq.heappush(self._heaps[entry.urgent], entry)
        self._changed.set()

    def _next(self) -> _Entry | None:
        """Return the entry that comes next, even if it is not due yet."""
        urgent, spaced = self._head(self._heaps[True]), self._head(self._heaps[False])
        if spaced is None:
            return urgent
        latest = spaced.due + self._overdue
        delayed = spaced._replace(due=max(spaced.due, min(self._last_urgent + QUIET, latest)))
        if urgent is None:
            return delayed
        now = self._clock()
        return delayed if delayed.due < urgent.due and (urgent.due > now or latest <= now) else urgent

    def _head(self, heap: list[_Entry]) -> _Entry | None:
        """Return the earliest valid entry, and drop outdated ones."""
        while heap:
            entry = heap[0]
            if self._due.get(entry.name) == entry and entry.name not in self._worked_on:
                return entry
            heapq.heappop(heap)
        return None
