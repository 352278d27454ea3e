"""Iterates over the queue in order, and skips jobs whose request is known not to fit."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

from queue_policies.records import Action, Happened, QueuedJob, Start, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.records import JobClass, Request, RunningJob, SizedRequest, Sketch


class Walk:
    """Iterates over the queued jobs of some classes, in the queue's order. True while there is a job."""

    def __init__(self, classes: Iterable[JobClass]) -> None:
        self._heap = [((head := each.head).order, head, each, math.inf) for each in classes]
        heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def job(self) -> QueuedJob:
        """The present job."""
        return self._heap[0][1]

    def on(self) -> None:
        """Go on to the next job."""
        self.only(self._heap[0][3])

    def only(self, shorter: float) -> None:
        """Go on, and from here on skip jobs of this class whose limit is not below `shorter`."""
        order, _, alike, _ = self._heap[0]
        following = alike.after(order, shorter)
        if following is None:
            heapq.heappop(self._heap)
        else:
            heapq.heapreplace(self._heap, (following.order, following, alike, shorter))

    def drop(self) -> None:
        """Go on without this job's class."""
        heapq.heappop(self._heap)


def arrivals_only(state: State, timeless: bool = False) -> list[QueuedJob] | None:
    """Return the jobs that arrived, in this order, if nothing else changed; else None.

    Only these can start then. `timeless`: a wake-up is no change, as time plays no part for the policy.
    """
    arrived: list[QueuedJob] = []
    for what, job in state.changes:
        if timeless and what is Happened.WOKEN:
            continue
        if what is not Happened.ARRIVED or job is None:
            return None
        if job in state.queue:
            arrived.append(state.queue[job])
    return arrived if state.changes else None


def sized(job: QueuedJob, size: int) -> Request:
    """Return the request of an elastic job for `size` units."""
    request: SizedRequest = job.request  # type: ignore[assignment] # that of every elastic job
    return request.sized(size)


def place(sketch: Sketch, job: QueuedJob, most: float = math.inf) -> Request | None:
    """Place the job at its largest feasible size up to `most`; return the request of that size, or None."""
    elastic = job.elastic
    if elastic is None:
        return job.request if job.request.size <= most and sketch.take(job.id, job.request) else None
    size = int(min(elastic.max, sketch.free, most))
    if size < elastic.min:
        return None
    request = sized(job, size)
    if sketch.take(job.id, request):
        return request
    return _place_smaller(sketch, job, size)


def place_in_order(
    queue: Iterable[QueuedJob], sketch: Sketch, least: bool = False
) -> tuple[list[tuple[QueuedJob, Request]], QueuedJob | None]:
    """Place jobs in order until one does not fit; return those placed, and that one (None: all fit).

    `least`: malleable jobs are placed at their least sizes, instead of the largest that fit.
    """
    placed: list[tuple[QueuedJob, Request]] = []
    for job in queue:
        got = place(sketch, job, largest(job, least)) if job.request.size <= sketch.free else None
        if got is None:
            return placed, job
        placed.append((job, got))
    return placed, None


def largest(job: QueuedJob, least: bool) -> float:
    """Return the size up to which a job is placed: with `least` that of a malleable one is its least."""
    return job.request.size if least and job.elastic and job.elastic.malleable else math.inf


def start_actions(placed: Iterable[tuple[QueuedJob, Request]]) -> list[Action]:
    """Return the actions that start placed jobs."""
    return [Start(job.id, got.size if job.elastic else None) for job, got in placed]


def _place_smaller(sketch: Sketch, job: QueuedJob, size: int) -> Request | None:
    """Place the job at the largest of the smaller sizes that fits, by bisection; None: it does not fit."""
    low, high = job.request.size, size  # `high` does not fit
    if not sketch.fits(job.request):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sketch.fits(sized(job, middle)) else (low, middle)
    request = sized(job, low)
    return request if sketch.take(job.id, request) else None


def sizes(job: QueuedJob) -> tuple[int, int]:
    """Return the least and the largest size of a job."""
    elastic = job.elastic
    return (elastic.min, elastic.max) if elastic else (job.request.size, job.request.size)


def malleable(job: RunningJob) -> bool:
    """Return whether the job can be ordered to resize now."""
    return job.elastic is not None and job.elastic.malleable and job.heeds
