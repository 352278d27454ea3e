"""Builds the actions of an elastic policy, and keeps how many units they leave.

A job that starts on free units is tried on the cluster's scratch copy. Units that shrinking jobs will return
are only counted, as their programs choose which ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.records import Action, Grow, QueuedJob, RunningJob, Shrink, Start, State, WakeAt
from queue_policies.walk import place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queue_policies.records import Sketch


@dataclass(slots=True)
class _PlannedStart:
    job: QueuedJob
    size: int
    after: tuple[int, ...] = ()


class Draft:
    """The orders of one decision. Several orders to a job become one action."""

    def __init__(self, state: State) -> None:
        self._cluster = state.cluster
        self._sketch = state.cluster.sketch()
        self._promised = 0  # free units for growing jobs and for starts after shrinks
        self._returned: dict[int, int] = {}  # units that shrinking jobs return, promised to no job
        self._started: dict[int, _PlannedStart] = {}
        self._resized: dict[int, tuple[RunningJob, int]] = {}
        self._wake = math.inf
        self._enlarged = False  # whether a job that starts was placed anew, after others

    @property
    def idle(self) -> int:
        """Units that are free now and promised to no job."""
        return self._sketch.free - self._promised

    @property
    def free(self) -> int:
        """The same, with the units that shrinking jobs will return."""
        return self.idle + sum(self._returned.values())

    @property
    def started(self) -> int:
        """The number of jobs that start."""
        return len(self._started)

    def starts(self, job: int) -> bool:
        """Return whether the queued job starts."""
        return job in self._started

    def size(self, job: RunningJob) -> int:
        """Return a running job's size after the orders so far."""
        order = self._resized.get(job.id)
        return job.request.size if order is None else order[1]

    def resized(self, job: int) -> bool:
        """Return whether a running job is ordered to another size."""
        return job in self._resized

    def start(self, job: QueuedJob, size: int) -> bool:
        """Start the job at `size`, or at a smaller one if free units do not suit it; False if none fits."""
        if size > self.idle:
            return self._start_later(job, size)
        request = place(self._sketch, job, size)
        if request is None:
            return False
        self._started[job.id] = _PlannedStart(job, request.size)
        return True

    def _start_later(self, job: QueuedJob, size: int) -> bool:
        missing = size - self.idle
        if size > self.free:
            return False
        self._promised += self.idle
        donors = []
        for donor in tuple(self._returned):
            given = min(self._returned[donor], missing)
            missing -= given
            donors.append(donor)
            self._returned[donor] -= given
            if not self._returned[donor]:
                del self._returned[donor]
            if not missing:
                break
        self._started[job.id] = _PlannedStart(job, size, tuple(donors))
        return True

    def would_fit(self, job: QueuedJob, gone: Iterable[int]) -> bool:
        """Return whether the job would fit at its least size without these running jobs."""
        sketch = self._sketch.copy()
        for other in gone:
            sketch.give(other)
        return sketch.fits(job.request)

    def enlarge(self, job: QueuedJob, size: int) -> bool:
        """Have a job that starts do so at a larger size, with units that are free now; False if it cannot."""
        started = self._started[job.id]
        if size - started.size > self.idle:  # a job that waits for others has taken all free units
            return False
        self._sketch.give(job.id)
        request = place(self._sketch, job, size)
        if request is None:
            raise AssertionError(f"job {job.id} does not fit where it fitted")
        larger = request.size > started.size
        started.size = request.size
        self._enlarged = True
        return larger

    def shrink(self, job: RunningJob, size: int) -> None:
        """Order the job to shrink."""
        self._returned[job.id] = self._returned.get(job.id, 0) + self.size(job) - size
        self._resized[job.id] = (job, size)

    def grow(self, job: RunningJob, size: int) -> None:
        """Order the job to grow, with units that are free now."""
        self._promised += size - self.size(job)
        self._resized[job.id] = (job, size)

    def wake(self, time: float) -> None:
        """Ask to decide again at this time, or earlier."""
        self._wake = min(self._wake, time)

    def answer(self, now: float) -> list[Action]:
        """Return the actions: first the jobs that shrink, then those that start, then those that grow."""
        if self._enlarged:
            self._started = _in_order(self._started, self._cluster.sketch())
        resized = self._resized.values()
        actions: list[Action] = [*_shrinks(resized), *_starts(self._started.values()), *_grows(resized)]
        if now < self._wake < math.inf:
            actions.append(WakeAt(self._wake))
        return actions


def _in_order(started: dict[int, _PlannedStart], sketch: Sketch) -> dict[int, _PlannedStart]:
    """Return the starts, placed once more in the order of their actions: on nodes some may fit no more.

    One that was enlarged may get what others got that were placed before: these start smaller, or wait.
    """
    found = {}
    for number, planned in started.items():
        request = None if planned.after else place(sketch, planned.job, planned.size)
        if request is not None:
            planned.size = request.size
        if planned.after or request is not None:
            found[number] = planned
    return found


def _shrinks(resized: Iterable[tuple[RunningJob, int]]) -> Iterator[Shrink]:
    for job, size in resized:
        if size < job.request.size:
            yield Shrink(job.id, size)


def _starts(started: Iterable[_PlannedStart]) -> Iterator[Start]:
    for each in started:
        yield Start(each.job.id, each.size if each.job.elastic else None, each.after)


def _grows(resized: Iterable[tuple[RunningJob, int]]) -> Iterator[Grow]:
    for job, size in resized:
        if size > job.request.size:
            yield Grow(job.id, size)
