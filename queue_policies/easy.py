"""EASY backfill: the first blocked job has a reservation, and later ones may start if they do not delay it.

Source: Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001, section 2: a job may backfill if it ends
before the shadow time, or if it uses only resources that the head does not need then (the extra ones).
The second rule is tested exactly here: the job's own resources are taken away from the cluster as it will
be at the shadow time, and the head must still fit.

A running job without time limit never ends as far as is known: its resources count as returned last, at an
infinite shadow time. A head that waits for ranks that are down or drained has no reservation; then only
jobs with a time limit may overtake it. Bound on starvation: once its ranks are up, the head starts no later
than the largest end among the jobs that were running when it became head.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, Happened, QueuedJob, Reserve, RunningJob, Sketch, Start, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Easy:
    """Order first, then backfill around the head's reservation."""

    name: ClassVar[str] = "easy"

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start from the head until one is blocked; reserve for it; backfill the rest."""
        sketch = state.cluster.sketch()
        started, head = _start_in_order(state.queue, sketch, now)
        actions: list[Action] = [Start(job.id) for job in started]
        if head is None or not sketch.free:
            return actions
        reservation = _reserve(head, sketch, (*state.running.values(), *started), now)
        if reservation.shadow < math.inf:
            actions.append(Reserve(head.id, reservation.shadow))
        groups = _overtakers(state, head, bool(started))
        actions.extend(Start(job) for job in _backfill(groups, sketch, reservation, now))
        return actions


@dataclass(frozen=True, slots=True)
class _Reservation:
    """The head starts at `shadow`, on the cluster as it will be `then` (None: not on ranks that are up)."""

    head: QueuedJob
    shadow: float
    then: Sketch | None

    def allows(self, job: QueuedJob, sketch: Sketch, now: float) -> bool:
        """Whether the job, already placed in `sketch`, leaves the head its start."""
        if now + job.limit < self.shadow:
            return True
        if self.then is None:
            return False
        self.then.mirror(sketch, job.id)
        if self.then.fits(self.head.request):
            return True
        self.then.give(job.id)
        return False


def _start_in_order(
    queue: Iterable[QueuedJob], sketch: Sketch, now: float
) -> tuple[list[RunningJob], QueuedJob | None]:
    """Place what fits, in order, and return it with the first job that does not."""
    started: list[RunningJob] = []
    for job in queue:
        if job.request.size > sketch.free or not sketch.take(job.id, job.request):
            return started, job
        started.append(RunningJob(job.id, job.request, now, now + job.limit))
    return started, None


def _reserve(head: QueuedJob, sketch: Sketch, running: Iterable[RunningJob], now: float) -> _Reservation:
    """Return running jobs' resources by their ends until the head fits."""
    then = sketch.copy()
    by_end = sorted(running, key=lambda job: (job.end, job.id))
    for end, jobs in itertools.groupby(by_end, key=lambda job: job.end):
        for job in jobs:
            then.give(job.id)
        if then.free >= head.request.size and then.fits(head.request):
            return _Reservation(head, max(end, now), then)
    return _Reservation(head, math.inf, None)


def _overtakers(state: State, head: QueuedJob, started: bool) -> Iterable[Sequence[QueuedJob]]:
    """The groups of alike jobs that may have a chance which they had not at the last decision.

    Where only jobs arrived behind a head that was blocked before, nothing got better for the others.
    """
    arrived = [c.job for c in state.changes if c.what is Happened.ARRIVED and c.job is not None]
    if started or not arrived or len(arrived) != len(state.changes) or head.id in arrived:
        return state.queue.classes()
    return [[state.queue[job]] for job in arrived if job in state.queue]


def _backfill(
    groups: Iterable[Sequence[QueuedJob]], sketch: Sketch, reservation: _Reservation, now: float
) -> Iterator[int]:
    """Try jobs in the queue's order, over all groups; jobs of a group ask for the same."""
    lanes: list[tuple[tuple[int, int], int, _Lane]] = []

    def line_up(index: int, lane: _Lane) -> None:
        job = lane.next(now, reservation.shadow)
        if job is not None:
            heapq.heappush(lanes, (job.order, index, lane))

    for index, jobs in enumerate(groups):
        if jobs[0].request.size <= sketch.free:
            line_up(index, _Lane(jobs))
    while lanes and sketch.free:
        _, index, lane = heapq.heappop(lanes)
        job = lane.job
        if sketch.holds(job.id) or job.id == reservation.head.id:
            line_up(index, lane)  # it starts already, or is the head itself
        elif job.request.size <= sketch.free and sketch.take(job.id, job.request):
            if reservation.allows(job, sketch, now):
                yield job.id
            else:
                sketch.give(job.id)
                lane.short_only = True
            line_up(index, lane)
        # Otherwise there is no room for what this group asks for: its lane ends here.


@dataclass(slots=True)
class _Lane:
    """A group's jobs, in order. Once one did not fit beside the head, only those that end before it do."""

    jobs: Sequence[QueuedJob]
    position: int = -1
    short_only: bool = False

    @property
    def job(self) -> QueuedJob:
        return self.jobs[self.position]

    def next(self, now: float, shadow: float) -> QueuedJob | None:
        """The next job that may have a chance."""
        for position in range(self.position + 1, len(self.jobs)):
            if not self.short_only or now + self.jobs[position].limit < shadow:
                self.position = position
                return self.jobs[position]
        return None
