"""The orders to malleable jobs in an instance's scheduler, and the resources that are reserved for them.

A job holds its workers' resources, and those that are reserved for new workers. This holds for the embedded
instance and for real Flux, where the workers beyond the least size are companions, jobs of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.nodes.slots import allocation_of, slots_of
from queue_policies.orders.book import OrderBook
from queue_policies.orders.node_room import NodeRoom
from queue_policies.orders.records import Begun, GrowOrder, ShrinkOrder, record
from queue_policies.records import Change, Happened, RunningJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import Allocation, NodeRequest, Slot
    from queue_policies.queue import IndexedQueue
    from queue_policies.records import Grow, QueuedJob, Shrink
    from queue_policies.running import RunningJobs


class Resizing:
    """The orders, and jobs that start once others have shrunk. `changed` gets the changes for policies."""

    def __init__(
        self, pool: Pool, queue: IndexedQueue, running: RunningJobs, changed: Callable[[Change], None]
    ) -> None:
        self.room = NodeRoom(pool)
        self._running = running
        self._changed = changed
        self.book: OrderBook[Sequence[Slot], Begun] = OrderBook(queue, running, self.room)
        """The orders under way."""
        self._ready: list[Begun] = []

    @property
    def waiting(self) -> bool:
        """Whether a job waits for others to shrink, or is about to begin after they did."""
        return self.book.waiting or bool(self._ready)

    def follow(self, pool: Pool) -> None:
        """Use a new pool from now on."""
        self.room.pool = pool

    def grow(self, action: Grow) -> GrowOrder | None:
        """Reserve as much as the job can use of the free units; None: it can use none of them."""
        request = _request(self._running[action.job])
        for workers in range(request.sized(action.size).workers - request.workers, 0, -1):
            more = self.room.pool.extend(action.job, request.with_workers(workers))
            if more is not None:
                self.book.open(action.job)
                return GrowOrder(action.job, more)
        return None

    def shrink(self, action: Shrink) -> ShrinkOrder:
        """Note the units that the job will give up, and return the order."""
        request = _request(self._running[action.job])
        smaller = request.sized(action.size)
        self.book.open(action.job, request.size - smaller.size)
        return ShrinkOrder(action.job, request.workers - smaller.workers)

    def begin(self, job: int) -> None:
        """Note that the job starts at its least size, and will grow into what is reserved for it."""
        self.book.open(job)

    def wait_for(self, queued: QueuedJob, request: NodeRequest, after: Iterable[int], now: float) -> bool:
        """Have the job start when these have shrunk; return False if none of them has an order under way."""
        return self.book.wait_for(record(queued, request, now), after)

    def cancel(self, job: int) -> Happened | None:
        """Cancel a start; return the change for policies, or None if the job did not wait for others."""
        if self.book.cancel(job):
            return Happened.LEFT
        if not any(begun.queued.id == job for begun in self._ready):
            return None
        self._ready = [begun for begun in self._ready if begun.queued.id != job]
        self.room.release(job)
        self._running.pop(job)
        return Happened.ENDED

    def ready(self, now: float) -> list[Begun]:
        """Return the jobs that begin now as others have shrunk for them."""
        ready, self._ready = self._ready, []
        for queued, request, _ in ready:
            self._running[queued.id] = record(queued, request, now)
        return ready

    def set_accepting(self, job: int, heeds: bool) -> None:
        """Set whether the job accepts orders."""
        if job in self._running and self._running[job].heeds != heeds:
            self._running[job] = self._running[job]._replace(heeds=heeds)
            self._changed(Change(Happened.REGISTERED, job))

    def progressed(self, job: int, fraction: float, now: float) -> None:
        """Note the share of its work that the job has done."""
        if job in self._running:
            self._running[job] = self._running[job]._replace(remaining=1 - fraction, measured=now)

    def resized(self, job: int, workers: int, lost: Sequence[Slot], now: float, *, heeds: bool) -> None:
        """Close an order that is done: the job has `workers` workers now, and gave up these slots."""
        self.room.reduce(job, allocation_of(lost))
        measured = _measured(self._running[job], now)
        self._running[job] = _sized(measured, workers)._replace(acted=now, heeds=heeds)
        self._done(job, lost)
        self._changed(Change(Happened.RESIZED, job))

    def refused(self, job: int, workers: int, unused: Allocation, now: float) -> None:
        """Close a failed order: the job keeps its size, and what was reserved for it is released."""
        self.room.reduce(job, unused)
        self._running[job] = _sized(self._running[job], workers)._replace(acted=now, heeds=False)
        self.book.refused(job)
        self._changed(Change(Happened.REFUSED, job))

    def ended(self, job: int, request: NodeRequest, freed: Allocation) -> None:
        """Give the resources of a job that ended during an order to those that waited for it."""
        if job in self.book:
            self._done(job, slots_of(freed, request))

    def _done(self, donor: int, freed: Sequence[Slot]) -> None:
        for _, begun in self.book.done(donor, freed):
            if begun is None:
                self._changed(Change(Happened.REFUSED, donor))
            else:
                self._running[begun.queued.id] = self._running[begun.queued.id]._replace(
                    request=begun.request
                )
                self._ready.append(begun)


def _request(running: RunningJob) -> NodeRequest:
    return cast("NodeRequest", running.request)


def _measured(running: RunningJob, now: float) -> RunningJob:
    """Return the record with what is left of its work as of now, before its speed changes."""
    if running.estimate is None:
        return running
    return running._replace(remaining=running.left(now), measured=now)


def _sized(running: RunningJob, workers: int) -> RunningJob:
    if running.elastic is None:  # some of its ranks have left meanwhile
        return running
    return running._replace(request=_request(running).with_workers(workers))
