"""Jobs that share cores in an instance: their records and quotas, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.nodes import low_ranks
from queue_policies.nodes.node_states import hold_as_guest
from queue_policies.nodes.slots import highest
from queue_policies.orders.records import GuestBegun, QuotaOrder, record
from queue_policies.sharing import JobEnd, SharingConsent

if TYPE_CHECKING:
    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import Allocation, NodeRequest
    from queue_policies.queue import IndexedQueue
    from queue_policies.records import RunningJob, Start
    from queue_policies.running import RunningJobs


class Guests:
    """Keeps hosts, guests and quotas among the running jobs."""

    def __init__(self, pool: Pool, queue: IndexedQueue, running: RunningJobs) -> None:
        self._pool = pool
        self._queue = queue
        self._running = running
        self._quotas: dict[int, list[tuple[float, float]]] = {}
        """By job: when its quota changed, and the new one."""

    def begin(self, action: Start, now: float) -> GuestBegun | None:
        """Start a job as a guest; None where its host's cores do not suit it: it is no guest any more.

        Its request may be for a number of nodes, or for GPUs, of which policies know nothing.
        """
        host, queued = cast("int", action.on), self._queue.remove(action.job)
        request = cast("NodeRequest", queued.request)
        if action.size is not None and action.size != request.size:
            request = request.sized(action.size)
        allocation = cores_for_guest(self._pool, host, request)
        if allocation is None:
            self._queue.add(queued._replace(consent=SharingConsent.NEVER))
            return None
        hold_as_guest(self._pool, queued.id, host, allocation)
        guest = record(queued, request, now)
        self._running[queued.id] = guest._replace(host=host, quota=action.fraction)
        before = self._running[host]
        self._running[host] = before._replace(guests=(*before.guests, queued.id))
        self._quotas[queued.id] = [(now, action.fraction)]
        return GuestBegun(queued, request, allocation, host, action.fraction)

    def set_quota(self, job: int, fraction: float, now: float) -> list[QuotaOrder]:
        """Set a quota; return it where it was another one."""
        before = self._running[job]
        if before.quota == fraction:
            return []
        self._running[job] = before._replace(quota=fraction)
        self._quotas.setdefault(job, []).append((now, fraction))
        return [QuotaOrder(job, fraction)]

    def ended(self, job: RunningJob, now: float, done: float | None) -> JobEnd:
        """Return how a job ended that is not among the running ones any more."""
        began = min(job.started, now)  # the clock may have been set back
        quotas = tuple(self._quotas.pop(job.id, ()))
        return JobEnd(job.id, began, now, job.end - job.started, done, quotas, job.host)

    def freed(self, job: RunningJob, now: float) -> list[QuotaOrder]:
        """Return the quotas that others have now that a job has ended: its host, or its guests."""
        if job.host is None:
            return [order for guest in job.guests for order in self._orphaned(guest, now)]
        if job.host not in self._running:
            return []
        host = self._running[job.host]
        left = tuple(each for each in host.guests if each != job.id)
        self._running[host.id] = host._replace(guests=left)
        others = sum(self._running[each].quota for each in left)
        return self.set_quota(host.id, 1.0 - others, now)

    def _orphaned(self, guest: int, now: float) -> list[QuotaOrder]:
        """Have a guest keep what it has of the cores of its host, which has ended."""
        if guest not in self._running:
            return []
        self._running[guest] = self._running[guest]._replace(host=None)
        return self.set_quota(guest, 1.0, now)


def cores_for_guest(pool: Pool, host: int, request: NodeRequest) -> Allocation | None:
    """Return cores of a running job for a guest, the highest of each rank; None where they do not suit it.

    A guest gets no GPUs: nothing divides their time.
    """
    allocation = pool.allocation(host)
    ranks = (rank for rank in pool.constraints.ranks(request.constraint) if rank in allocation)
    found = low_ranks.place(request, ranks, lambda rank: (allocation[rank][0], 0), pool.nodes)
    if found is None:
        return None
    return {
        rank: (highest(allocation[rank][0], cores.bit_count()), 0) for rank, (cores, _gpus) in found.items()
    }
