"""Going through the queue in order, without looking at jobs that ask for what was found not to be there."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

from queue_policies.records import Action, Happened, QueuedJob, Start, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.records import JobClass, Request, RunningJob, SizedRequest, Sketch


class Walk:
    """The queued jobs of some classes, in the queue's order. True while there is one to look at."""

    def __init__(self, classes: Iterable[JobClass]) -> None:
        self._heap = [((head := each.head).order, head, each, math.inf) for each in classes]
        heapq.heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def job(self) -> QueuedJob:
        """The job to look at."""
        return self._heap[0][1]

    def on(self) -> None:
        """Go on."""
        self.only(self._heap[0][3])

    def only(self, shorter: float) -> None:
        """Go on, and from here on look only at such jobs of this class as have a limit below `shorter`."""
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
    """The jobs that arrived, in this order, where nothing else happened: for the others nothing got better.

    None where something else happened, or may have. `timeless`: time alone makes nothing better either.
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
    """The request of an elastic job for `size` units."""
    request: SizedRequest = job.request  # type: ignore[assignment] # an elastic job asks in this way
    return request.sized(size)


def place(sketch: Sketch, job: QueuedJob, most: float = math.inf) -> Request | None:
    """Place the job at its largest feasible size up to `most`, and return what it got."""
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
    """Place what fits, in order, and return it with the first job that does not.

    `least`: malleable jobs at their least sizes, instead of the largest that fit.
    """
    placed: list[tuple[QueuedJob, Request]] = []
    for job in queue:
        got = place(sketch, job, largest(job, least)) if job.request.size <= sketch.free else None
        if got is None:
            return placed, job
        placed.append((job, got))
    return placed, None


def largest(job: QueuedJob, least: bool) -> float:
    """The size up to which a job is placed: with `least` a malleable one at its least."""
    return job.request.size if least and job.elastic and job.elastic.malleable else math.inf


def start_actions(placed: Iterable[tuple[QueuedJob, Request]]) -> list[Action]:
    """The actions that start jobs with what they were given."""
    return [Start(job.id, got.size if job.elastic else None) for job, got in placed]


def _place_smaller(sketch: Sketch, job: QueuedJob, size: int) -> Request | None:
    """Where units are free that do not suit the job, try smaller sizes."""
    low, high = job.request.size, size  # `high` does not fit
    if not sketch.fits(job.request):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sketch.fits(sized(job, middle)) else (low, middle)
    request = sized(job, low)
    return request if sketch.take(job.id, request) else None


def sizes(job: QueuedJob) -> tuple[int, int]:
    """The least and the largest size of a job."""
    elastic = job.elastic
    return (elastic.min, elastic.max) if elastic else (job.request.size, job.request.size)


def malleable(job: RunningJob) -> bool:
    """Whether the job can be ordered to resize now."""
    return job.elastic is not None and job.elastic.malleable and job.heeds
