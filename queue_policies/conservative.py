"""Conservative backfill: the first waiting jobs have reservations, and none is delayed by a later one.

Source: Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001, section 2 (conservative backfilling). Jobs
are planned in order on the units that are free over time, by the time limits; the plan is made anew at each
decision, so that reservations move when jobs end early. Jobs behind the first `depth` may start if they
delay none of them. An elastic job starts at the largest size that the plan leaves for its whole time limit;
its reservation is for the least. Bound on starvation: that of `easy`, for the first job of the queue.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, QueuedJob, Reserve, Start, State
from queue_policies.settings import setting
from queue_policies.walk import Walk, arrivals_only, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.records import RunningJob, Sketch


@dataclass(frozen=True, slots=True)
class Conservative:
    """Plan in order; start what the plan starts now."""

    name: ClassVar[str] = "conservative"
    depth: int = setting(100, "how many of the first waiting jobs have reservations", least=1)

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Plan the first jobs; start now what is planned for now; backfill the others."""
        sketch = state.cluster.sketch()
        if sketch.free <= 0 or not len(state.queue):
            return []
        first = list(islice(state.queue, self.depth))
        if _changes_nothing(state, first[-1], sketch.free):
            return []
        plan = _Plan(now, sketch, state.running.by_end())
        actions = [action for job in first if (action := plan.book(job)) is not None]
        if len(state.queue) > len(first):
            actions.extend(plan.backfill(state, first[-1].order))
        return actions


def _changes_nothing(state: State, last: QueuedJob, free: int) -> bool:
    """Return whether all changes are arrivals of jobs behind those with reservations that do not fit now."""
    arrived = arrivals_only(state)
    return arrived is not None and all(job.order > last.order and job.request.size > free for job in arrived)


class _Plan:
    """The free units over time: `_free[i]` from `_times[i]` until the next time."""

    def __init__(self, now: float, sketch: Sketch, running: Iterable[RunningJob]) -> None:
        self._now = now
        self._sketch = sketch
        self._times = [now]
        self._free = [sketch.free]
        for job in running:
            end = max(job.end, math.nextafter(now, math.inf))  # beyond its limit: it may end at any moment
            if end == math.inf:
                break
            if end > self._times[-1]:
                self._times.append(end)
                self._free.append(self._free[-1])
            self._free[-1] += job.size

    def book(self, job: QueuedJob) -> Action | None:
        """Start the job, or reserve the earliest time at which its units are free for its whole limit."""
        size = job.request.size
        at = self._earliest(size, job.limit, 0)
        if at == self._now:
            got = place(self._sketch, job, self._least(self._now + job.limit))
            if got is not None:
                self._occupy(self._now, job.limit, got.size)
                return Start(job.id, got.size if job.elastic else None)
            at = self._earliest(size, job.limit, 1)
        if at == math.inf:
            return None
        self._occupy(at, job.limit, size)
        return Reserve(job.id, at)

    def backfill(self, state: State, last: tuple[int, int]) -> Iterable[Start]:
        """Start those jobs behind `last` that do not change the plan."""
        walk = Walk(state.queue.classes(self._sketch.free))
        while walk and self._sketch.free:
            job = walk.job
            if job.order <= last:
                walk.on()
                continue
            if job.request.size > self._sketch.free:
                walk.drop()
                continue
            most = self._least(self._now + job.limit)
            if most < job.request.size:
                walk.only(self._shortage(job.request.size) - self._now)
                continue
            got = place(self._sketch, job, most)
            if got is None:
                walk.drop()
                continue
            self._occupy(self._now, job.limit, got.size)
            yield Start(job.id, got.size if job.elastic else None)
            walk.on()

    def _earliest(self, size: int, limit: float, first: int) -> float:
        """Return the earliest time, from index `first` on, at which `size` units are free for `limit` s."""
        start = first
        while start < len(self._times):
            begin = self._times[start]
            end = bisect_left(self._times, begin + limit)
            short = next((n for n in range(end - 1, start - 1, -1) if self._free[n] < size), None)
            if short is None:
                return begin
            start = short + 1
        return math.inf

    def _least(self, until: float) -> int:
        """Return the least number of free units between now and `until`."""
        return min(self._free[: bisect_left(self._times, until)], default=0)

    def _shortage(self, size: int) -> float:
        """Return the first time at which fewer than `size` units are free."""
        short = (time for time, free in zip(self._times, self._free, strict=True) if free < size)
        return min(next(short), sys.float_info.max)

    def _occupy(self, begin: float, limit: float, size: int) -> None:
        """Take `size` units for `limit` seconds from `begin` on."""
        first, last = self._split(begin), len(self._times)
        if begin + limit < math.inf:
            last = self._split(begin + limit)
        for index in range(first, last):
            self._free[index] -= size

    def _split(self, time: float) -> int:
        """Return the index of this time; insert it if it is missing."""
        index = bisect_right(self._times, time) - 1
        if self._times[index] == time:
            return index
        self._times.insert(index + 1, time)
        self._free.insert(index + 1, self._free[index])
        return index + 1
