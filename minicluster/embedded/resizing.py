"""Malleable jobs as the scheduler has them: what is held for an order, and what one comes to.

A job holds what its workers have, and what is kept for workers on their way: in this instance, and in our
scheduler of real Flux, where the workers beyond the least size are companions, jobs of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from minicluster.embedded import elastic
from minicluster.embedded.starters import Resize, Starters
from queue_policies.records import Change, Happened, QueuedJob, RunningJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from minicluster.embedded.elastic import Place
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.pool import Pool
    from minicluster.embedded.resource_set import Holding
    from queue_policies.queue import IndexedQueue
    from queue_policies.records import Grow, Shrink
    from queue_policies.running import RunningJobs


class Orders(Protocol):
    """Whoever tells programs; none of these calls comes back here."""

    def grow(self, job: int, more: Holding) -> None:
        """Order a running job to grow into these resources, which are held for it."""

    def shrink(self, job: int, workers: int) -> None:
        """Order a running job to give up so many workers."""


class Resizing:
    """Orders under way, and jobs that start once others have shrunk."""

    orders: Orders

    def __init__(
        self,
        pool: Pool,
        queue: IndexedQueue,
        running: RunningJobs,
        changed: Callable[[Change], None],
        begin: Callable[[QueuedJob, Resources, Holding], None],
    ) -> None:
        self._pool = pool
        self._queue = queue
        self._running = running
        self._changed = changed
        self._begin = begin
        self._resizes: dict[int, Resize] = {}
        self._starters = Starters(pool, self._resizes)

    @property
    def waiting(self) -> bool:
        """Whether a job waits for others to shrink."""
        return bool(self._starters)

    def follow(self, pool: Pool) -> None:
        """The pool was made anew."""
        self._pool = self._starters.pool = pool

    def grow(self, action: Grow) -> None:
        """Order what can be had of it: free units may be where the job cannot use them."""
        record = self._running[action.job]
        request = cast("Resources", record.request)
        for workers in range(request.sized(action.size).workers - request.workers, 0, -1):
            more = self._pool.extend(action.job, request.with_workers(workers))
            if more is not None:
                self._ordered(record, Resize()).grow(action.job, more)
                return

    def shrink(self, action: Shrink) -> None:
        """Order it."""
        record = self._running[action.job]
        request = cast("Resources", record.request)
        smaller = request.sized(action.size)
        orders = self._ordered(record, Resize(request.size - smaller.size))
        orders.shrink(action.job, request.workers - smaller.workers)

    def _ordered(self, record: RunningJob, resize: Resize) -> Orders:
        self._running[record.id] = record._replace(heeds=False)
        self._resizes[record.id] = resize
        return self.orders

    def wait_for(self, queued: QueuedJob, request: Resources, after: Iterable[int], now: float) -> bool:
        """Start the job when these have shrunk; False where none of them is amid an order."""
        donors = [donor for donor in after if donor in self._resizes]
        if donors:
            self._queue.remove(queued.id)
            self._starters.add(queued, request, donors)
            self._running[queued.id] = record(queued, request, now)._replace(waits=True)
        return bool(donors)

    def cancel(self, job: int) -> bool:
        """A job must not start any more; whether it was one that waits for others to shrink."""
        if job not in self._starters:
            return False
        self._starters.cancel(job)
        self._running.pop(job)
        return True

    def begin(self, job: int) -> None:
        """The job starts smaller than it was to: it will grow by what is held for it."""
        self._resizes[job] = Resize()

    def heeds(self, job: int, heeds: bool) -> None:
        """The job began or ceased to heed orders."""
        if job in self._running and self._running[job].heeds != heeds:
            self._running[job] = self._running[job]._replace(heeds=heeds)
            self._changed(Change(Happened.REGISTERED, job))

    def progressed(self, job: int, share: float, now: float) -> None:
        """The job told which share of its work is done."""
        if job in self._running:
            self._running[job] = self._running[job]._replace(remaining=1 - share, measured=now)

    def resized(self, job: int, workers: int, lost: Sequence[Place], now: float, *, heeds: bool) -> None:
        """An order is done: the job has so many workers, and gave up these places."""
        self._reduce(job, elastic.holding(lost))
        self._measure(job, now)
        self._running[job] = self._sized(job, workers)._replace(acted=now, heeds=heeds)
        self._give(job, self._resizes.pop(job), lost)
        self._changed(Change(Happened.RESIZED, job))

    def refused(self, job: int, workers: int, unused: Holding, now: float) -> None:
        """An order came to nothing; `unused` was held for the job, which keeps this size, and rests."""
        self._reduce(job, unused)
        self._running[job] = self._sized(job, workers)._replace(acted=now, heeds=False)
        for queued in self._starters.refused(self._resizes.pop(job)):
            self._requeue(queued)
        self._changed(Change(Happened.REFUSED, job))

    def ended(self, job: int, request: Resources, freed: Holding) -> None:
        """A job amid an order has ended: what it frees goes to those that waited for it."""
        resize = self._resizes.pop(job, None)
        if resize is not None:
            self._give(job, resize, elastic.places(freed, request))

    def _measure(self, job: int, now: float) -> None:
        """Bring what is left of its work to now: from now on it takes another time."""
        running = self._running[job]
        if running.estimate is not None:
            self._running[job] = running._replace(remaining=running.left(now), measured=now)

    def _sized(self, job: int, workers: int) -> RunningJob:
        running = self._running[job]
        if running.elastic is None:  # some of its ranks have left meanwhile
            return running
        return running._replace(request=cast("Resources", running.request).with_workers(workers))

    def _reduce(self, job: int, part: Holding) -> None:
        """Take it back, as far as its ranks are here."""
        held = self._pool.holding(job)
        self._pool.reduce(job, {rank: share for rank, share in part.items() if rank in held})

    def _give(self, donor: int, resize: Resize, places: Sequence[Place]) -> None:
        for starter in self._starters.given(donor, resize, places):
            got = self._starters.place(starter)
            if got is None:
                self._requeue(starter.queued)
                self._changed(Change(Happened.REFUSED, donor))
            else:
                self._begin(starter.queued, *got)

    def _requeue(self, queued: QueuedJob) -> None:
        self._running.pop(queued.id)
        self._queue.add(queued)


def record(queued: QueuedJob, request: Resources, now: float) -> RunningJob:
    """The job as it runs from now on; it heeds orders when its program has registered."""
    return RunningJob(
        queued.id,
        request,
        now,
        now + queued.limit,
        queued.elastic,
        queued.priority,
        queued.submitted,
        queued.user,
        now,
        False,
        None if queued.estimate is None else 1.0,
        now,
        queued.estimate,
    )
