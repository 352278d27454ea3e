"""The calendar: a heap of future events. Those at one time are ordered by kind."""

from __future__ import annotations

import enum
import heapq
import itertools
import math
from typing import NamedTuple


class Kind(enum.IntEnum):
    """Kinds of events. At one time they happen in this order, before jobs arrive."""

    ENDS = 0  # a job has done its work, or its time limit is over
    RETURNS = 1  # its units are free
    FAILS = 2  # a unit fails
    REPAIRED = 3  # a unit is back
    RESIZED = 4  # a job's order is done, or refused
    REGISTERS = 5  # a malleable job accepts orders from now on
    REPORTS = 6  # a job reports its progress
    PREEMPTED = 7  # its checkpoint is written, and it stops
    MEASURES = 8  # what a job uses has been measured


class CalendarEvent(NamedTuple):
    """A future event."""

    time: float
    kind: Kind
    serial: int
    job: int
    version: int
    """That of the job's run. If the run has another one by then, the event is void."""


class Calendar:
    """The future events."""

    def __init__(self) -> None:
        self._heap: list[CalendarEvent] = []
        self._serial = itertools.count()

    def add(self, time: float, kind: Kind, job: int = -1, version: int = 0) -> None:
        """Add an event."""
        heapq.heappush(self._heap, CalendarEvent(time, kind, next(self._serial), job, version))

    def next_time(self) -> float:
        """Return the time of the next event; infinite: there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def pop(self) -> CalendarEvent:
        """Remove and return the next event."""
        return heapq.heappop(self._heap)
