"""The queue of names to reconcile: each is in it once, namespaces take turns, and failed ones come later."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING

from minicluster.operator.lane import TICK, Entry, Lane

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


class WorkQueue:
    """Names with the time at which each is due, in seconds of `clock`.

    A name that is added while it is worked on comes again afterwards. A name is urgent if its document has
    changed, or if it was added for a set time. Others have at least `spacing` seconds between two reconciles,
    and up to three times that if many names are due: what was just made changes several times a second.

    Each namespace has a lane, and those with a name that is due take turns (decision 0043). So a name waits
    for what its own namespace has added before, and for one name of each other namespace at a time. Within a
    lane, other names wait for urgent ones, but not longer than `overdue` seconds.
    """

    def __init__(self, clock: Callable[[], float], spacing: float = 1.0, overdue: float = 5.0) -> None:
        self._clock = clock
        self._spacing = spacing
        self._overdue = overdue
        self._lanes: dict[str, Lane] = {}
        self._round: dict[str, None] = {}  # namespaces that may have a name that is due, in turn
        self._later: list[tuple[float, str]] = []  # a heap: when to look at which namespace again
        self._planned = 0
        self._last: dict[Name, float] = {}
        self._failures: dict[Name, int] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return self._planned

    def add(self, name: Name, delay: float = 0.0) -> None:
        """Add a name, urgent, due in `delay` seconds, or earlier if it was added so before."""
        self._plan(Entry(self._clock() + delay, name, urgent=True))

    def add_spaced(self, name: Name) -> None:
        """Add a name, due not sooner than the spacing after its last reconcile."""
        last, now = self._last.get(name), self._clock()
        spacing = self._spacing * max(1.0, min(self._planned / MANY, MAX_SPACING_FACTOR))
        due = now if last is None else max(now, last + spacing)
        self._plan(Entry(due, name, urgent=False))

    async def take(self) -> Name:
        """Return the next name that is due; it comes again only after `done`. One caller at a time waits."""
        while True:
            entry = self._due()
            if entry is not None:
                return entry.name
            wait = self._later[0][0] - self._clock() if self._later else None
            self._changed.clear()
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def done(self, name: Name) -> None:
        """Take in that a name is not worked on any more."""
        self._last[name] = self._clock()
        lane = self._lanes.get(name.namespace)
        entry = lane.done(name) if lane is not None else None
        if entry is not None:
            self._schedule(entry)
        self._close(name.namespace)

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
        for known in (self._last, self._failures):
            known.pop(name, None)
        if name.namespace in self._lanes:
            self._planned -= self._lanes[name.namespace].forget(name)
            self._close(name.namespace)

    def leave(self, name: Name) -> None:
        """Forget a name that is no MiniCluster's, unless it is planned again."""
        lane = self._lanes.get(name.namespace)
        if lane is None or name not in lane:
            self.forget(name)

    def _plan(self, entry: Entry) -> None:
        lane = self._lanes.setdefault(entry.name.namespace, Lane(self._overdue))
        before = len(lane)
        planned = lane.plan(entry)
        self._planned += len(lane) - before
        if planned is not None:
            self._schedule(planned)

    def _schedule(self, entry: Entry) -> None:
        """Have an entry's namespace looked at when it is due."""
        heapq.heappush(self._later, (entry.due, entry.name.namespace))
        self._changed.set()

    def _due(self) -> Entry | None:
        """Take the entry whose turn it is; None: none is due before the time of the first in `_later`."""
        now = self._clock()
        while self._later and self._later[0][0] - now < TICK:  # shorter waits would be rounded to 0
            self._round.setdefault(heapq.heappop(self._later)[1])
        while self._round:
            namespace = next(iter(self._round))
            del self._round[namespace]
            lane = self._lanes.get(namespace)
            entry = lane.next(now) if lane is not None else None
            if lane is None or entry is None:
                continue
            if entry.due - now < TICK:
                lane.take(entry, now)
                self._planned -= 1
                self._round[namespace] = None  # behind all others
                return entry
            heapq.heappush(self._later, (entry.due, namespace))
        return None

    def _close(self, namespace: str) -> None:
        """Forget the lane of a namespace in which there is nothing to do."""
        if namespace in self._lanes and self._lanes[namespace].is_idle:
            del self._lanes[namespace]
