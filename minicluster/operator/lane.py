"""The names to reconcile of one namespace: which comes next, and when. Pure; the time is an argument."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minicluster.kube_client.objects import Name

TICK = 0.001
"""Seconds by which a name may come too early."""
QUIET = 0.2
"""Seconds without an urgent name after which the others come."""


class Entry(NamedTuple):
    """When a name is due, and whether it is urgent."""

    due: float
    name: Name
    urgent: bool


class Lane:
    """The names of one namespace, each at most once, in the order in which they are due.

    Other names wait while urgent ones keep coming, but not longer than `overdue` seconds. So in a burst all
    MiniClusters of a namespace are made before any of them gets a newer status.
    """

    def __init__(self, overdue: float) -> None:
        self._overdue = overdue
        self._planned: dict[Name, Entry] = {}
        self._heaps: dict[bool, list[Entry]] = {True: [], False: []}
        self._worked_on: set[Name] = set()
        self._last_urgent = float("-inf")

    def __len__(self) -> int:
        """Return how many names are planned."""
        return len(self._planned)

    def __contains__(self, name: Name) -> bool:
        """Whether a name is planned."""
        return name in self._planned

    @property
    def is_idle(self) -> bool:
        """Whether no name is planned or worked on."""
        return not self._planned and not self._worked_on

    def plan(self, entry: Entry) -> Entry | None:
        """Plan a name; the earlier time counts, and urgency stays. Return its entry if that is a new one."""
        known = self._planned.get(entry.name)
        if known is not None:
            entry = min(known, entry)._replace(urgent=known.urgent or entry.urgent)
        if entry == known:
            return None
        self._push(entry)
        return entry

    def next(self, now: float) -> Entry | None:
        """Return the entry that comes next, with the time when it does, which may be later than `now`."""
        urgent, spaced = self._head(self._heaps[True]), self._head(self._heaps[False])
        if spaced is None:
            return urgent
        latest = spaced.due + self._overdue
        delayed = spaced._replace(due=max(spaced.due, min(self._last_urgent + QUIET, latest)))
        if urgent is None:
            return delayed
        return delayed if delayed.due < urgent.due and (urgent.due > now or latest <= now) else urgent

    def take(self, entry: Entry, now: float) -> None:
        """Begin to work on a name that came next."""
        if entry.urgent:
            self._last_urgent = now
        del self._planned[entry.name]
        self._worked_on.add(entry.name)

    def done(self, name: Name) -> Entry | None:
        """Take in that a name is not worked on any more; return its entry if it was planned meanwhile."""
        self._worked_on.discard(name)
        entry = self._planned.get(name)
        if entry is not None:
            self._push(entry)
        return entry

    def forget(self, name: Name) -> int:
        """Plan a name no more; return how many that were, one or none."""
        return 0 if self._planned.pop(name, None) is None else 1

    def _push(self, entry: Entry) -> None:
        self._planned[entry.name] = entry
        heapq.heappush(self._heaps[entry.urgent], entry)

    def _head(self, heap: list[Entry]) -> Entry | None:
        """Return the earliest valid entry, and drop outdated ones."""
        while heap:
            entry = heap[0]
            if self._planned.get(entry.name) == entry and entry.name not in self._worked_on:
                return entry
            heapq.heappop(heap)
        return None
