"""EASY backfill: the first blocked job has a reservation, and later ones may start if they do not delay it.

Source: Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001, section 2. A job may backfill if it ends
before the shadow time, or if it uses only resources that the head does not need then (the extra ones).

The second rule is tested exactly: the job's resources are taken from the cluster as it will be at the shadow
time, and the head must still fit. An elastic job starts at the largest size that these rules allow, and keeps
it. The head's reservation is for its least size.

A running job without time limit counts as one that never ends: its resources are returned last, at an
infinite shadow time. A head that waits for ranks that are down or drained has no reservation; then only
jobs with a time limit may overtake it. Bound on starvation: once its ranks are up, the head starts no later
than the largest end among the jobs that were running when it became head.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from heapq import merge
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from queue_policies.records import Action, QueuedJob, Reserve, RunningJob, Sketch, State
from queue_policies.settings import setting
from queue_policies.walk import Walk, arrivals_only, largest, place, place_in_order, start_actions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.records import Queue, Request

_BY_END = attrgetter("end", "id")


@dataclass(frozen=True, slots=True)
class Easy:
    """Order first, then backfill around the head's reservation."""

    name: ClassVar[str] = "easy"
    extra: bool = setting(
        True, "whether a job may overtake that ends later, but uses only what the head leaves"
    )

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start from the head until one is blocked; reserve for it; backfill the rest."""
        schedule = easy_pass(state, now, extra=self.extra)
        actions = start_actions(schedule.starts)
        if schedule.head is not None and math.isfinite(schedule.shadow):
            actions.append(Reserve(schedule.head.id, schedule.shadow))
        return actions


class Schedule(NamedTuple):
    """The result of an EASY pass."""

    starts: list[tuple[QueuedJob, Request]]
    """The jobs to start, with the requests that were placed."""
    head: QueuedJob | None
    """The first blocked job."""
    shadow: float = -math.inf
    """When the head can start. Infinite: not known; -infinite: not computed, as no job can start."""
    extra: int = 0
    """The units that the head then leaves to others."""


def easy_pass(state: State, now: float, *, extra: bool, least: bool = False) -> Schedule:
    """Start in order, then around the head's reservation.

    `extra`: jobs that end later may take what the head leaves. `least`: malleable jobs start at their least
    sizes, instead of the largest that fit.
    """
    if not len(state.queue):
        return Schedule([], None)
    sketch = state.cluster.sketch()
    starts, head = place_in_order(state.queue, sketch, least)
    if head is None or not sketch.free:
        return Schedule(starts, head)
    late = None if starts else _arrived_behind(head, state)
    if late is not None and not any(job.request.size <= sketch.free for job in late):
        return Schedule(starts, head)
    running = state.running.by_end()
    if starts:
        running = merge(running, _running(starts, now), key=_BY_END)
    reservation = _reserve(head, sketch, running, now, extra)
    beside = _Beside(reservation, sketch, now, least)
    if late is not None:
        starts.extend(beside.some(late))
    elif len(state.queue) > len(starts) + 1:  # others wait behind the head
        starts.extend(beside.all_of(state.queue))
    return Schedule(starts, head, reservation.shadow, beside.extra)


def reservation(state: State, schedule: Schedule, now: float) -> tuple[float, int]:
    """Return when the head of a schedule can start, and the units that it then leaves to others.

    Infinite and 0: it is not known when. `schedule` is that of `easy_pass` for this state, with a head.
    """
    head = schedule.head
    if head is None:
        raise ValueError("there is no head")
    sketch = state.cluster.sketch()
    for job, got in schedule.starts:
        sketch.take(job.id, got)
    running = merge(state.running.by_end(), _running(schedule.starts, now), key=_BY_END)
    _, shadow, then = _reserve(head, sketch, running, now, extra=True)
    return shadow, 0 if then is None else then.free - head.request.size


def _running(starts: Iterable[tuple[QueuedJob, Request]], now: float) -> list[RunningJob]:
    """Return the jobs as they run once they have started, by their ends."""
    return sorted((RunningJob(job.id, got, now, now + job.limit) for job, got in starts), key=_BY_END)


class _Reservation(NamedTuple):
    """The head's reservation."""

    head: QueuedJob
    shadow: float
    """When it starts."""
    then: Sketch | None
    """The cluster at that time; None: not known, or not needed."""


def _reserve(
    head: QueuedJob, sketch: Sketch, running: Iterable[RunningJob], now: float, extra: bool
) -> _Reservation:
    """Release running jobs' resources in the order of their ends, until the head fits.

    All jobs that end at that time are released.
    """
    then = sketch.copy()
    size, shadow = head.request.size, -math.inf
    for job in running:
        if job.end > shadow:
            if then.free >= size and then.fits(head.request):
                return _Reservation(head, max(shadow, now), then if extra else None)
            shadow = job.end
        then.give(job.id)
    if then.free >= size and then.fits(head.request):
        return _Reservation(head, max(shadow, now), then if extra else None)
    return _Reservation(head, math.inf, None)


def _arrived_behind(head: QueuedJob, state: State) -> list[QueuedJob] | None:
    """Return the arrivals, if nothing else changed and the head was blocked before; else None."""
    arrived = arrivals_only(state)
    if arrived is None or any(job.id == head.id for job in arrived):
        return None
    return sorted(arrived, key=attrgetter("order"))


class _Beside:
    """Places jobs that do not delay the head."""

    def __init__(self, reservation: _Reservation, sketch: Sketch, now: float, least: bool) -> None:
        self._head, self._shadow, self._then = reservation
        self._sketch = sketch
        self._now = now
        self._least = least

    def some(self, jobs: Iterable[QueuedJob]) -> Iterator[tuple[QueuedJob, Request]]:
        """Yield those of these jobs that can start."""
        for job in jobs:
            got = self._place(job) if job.request.size <= self._sketch.free else None
            if got is not None:
                yield job, got

    def all_of(self, queue: Queue) -> Iterator[tuple[QueuedJob, Request]]:
        """Yield those of all queued jobs that can start, in order.

        Once one of a class did not fit beside the head, only those that end before the shadow time are tried.
        """
        sketch = self._sketch
        walk = Walk(queue.classes(sketch.free))
        while walk and sketch.free:
            job = walk.job
            if sketch.holds(job.id) or job.id == self._head.id:
                walk.on()  # it starts already, or is the head itself
            elif job.request.size > sketch.free:
                walk.drop()
            elif (got := self._place(job)) is not None:
                yield job, got
                walk.on()
            elif self._short(job):
                walk.drop()  # no job of this class fits
            else:
                walk.only(min(self._shadow - self._now, sys.float_info.max))  # finite: jobs with a limit

    @property
    def extra(self) -> int:
        """The units that the head will leave to others."""
        return 0 if self._then is None else self._then.free - self._head.request.size

    def _short(self, job: QueuedJob) -> bool:
        return self._now + job.limit < self._shadow

    def _place(self, job: QueuedJob) -> Request | None:
        """Place the job if that does not delay the head; return what it got."""
        most = largest(job, self._least)
        if self._short(job):
            return place(self._sketch, job, most)
        then = self._then
        if then is None:
            return None
        got = place(self._sketch, job, min(most, self.extra)) if job.request.size <= self.extra else None
        if got is None:
            return None
        then.mirror(self._sketch, job.id)
        if then.fits(self._head.request):
            return got
        then.give(job.id)
        self._sketch.give(job.id)
        return None
