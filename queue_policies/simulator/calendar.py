"""What will happen when: a heap of events, those of one moment in the order in which they count."""

from __future__ import annotations

import enum
import heapq
import itertools
import math
from typing import NamedTuple


class Kind(enum.IntEnum):
    """Kinds of events; at one moment they happen in this order, before jobs arrive."""

    ENDS = 0  # a job has done its work, or its time limit is over
    RETURNS = 1  # its units are free
    FAILS = 2  # a unit fails
    REPAIRED = 3  # a unit is back
    RESIZED = 4  # the order that a job is amid is done, or refused
    REGISTERS = 5  # a malleable job heeds orders from now on
    REPORTS = 6  # a job tells its progress
    PREEMPTED = 7  # its checkpoint is written, and it stops


class CalendarEvent(NamedTuple):
    """Where `version` is not that of the job's run any more, the event is void."""

    time: float
    kind: Kind
    serial: int
    job: int
    version: int


class Calendar:
    """The events to come."""

    def __init__(self) -> None:
        self._heap: list[CalendarEvent] = []
        self._serial = itertools.count()

    def add(self, time: float, kind: Kind, job: int = -1, version: int = 0) -> None:
        """Note an event."""
        heapq.heappush(self._heap, CalendarEvent(time, kind, next(self._serial), job, version))

    def next_time(self) -> float:
        """When something happens next; infinite: never."""
        return self._heap[0][0] if self._heap else math.inf

    def pop(self) -> CalendarEvent:
        """Take out the next event."""
        return heapq.heappop(self._heap)
