"""The CPU quotas of jobs that share cores: what their ranks are to enforce, and their events.

A host's quota is a fraction of its cores' time, a guest's one of its host's. Where whole cores are enforced,
the host keeps the lowest of its cores on each rank, and the guest has the highest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.execution.messages import RankLimit
from queue_policies.nodes.slots import highest, ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts
    from queue_policies.nodes.records import Allocation
    from queue_policies.orders.records import GuestBegun, QuotaOrder
    from queue_policies.records import RunningJob

ANNOTATION = "sharing"


class CpuQuotas:
    """Has ranks enforce quotas, and notes them in eventlogs and listings."""

    def __init__(
        self, parts: Parts, jobs: Mapping[int, ActiveJob], log: JobLog, lifecycle: JobLifecycle
    ) -> None:
        self._parts = parts
        self._jobs = jobs
        self._log = log
        self._orders: dict[int, list[float]] = {}
        """By job: the fraction of each of its limits."""
        lifecycle.on_inactive.append(self._ended)

    def launch_limits(self, job: int) -> Mapping[int, RankLimit] | None:
        """Return the limits with which a job's processes start; None where nothing is limited."""
        scheduler = self._parts.scheduler
        if scheduler.co_scheduling.sharing is None or job not in scheduler.running:
            return None
        return self._next(scheduler.running[job])

    def begun(self, begun: GuestBegun) -> None:
        """Note that a job has started on the cores of another one."""
        guest, host = self._jobs[begun.queued.id], self._jobs.get(begun.host)
        self._log.append(guest, "co-allocated", {"host": begun.host, "fraction": begun.fraction})
        self._annotate(guest)
        if host is not None:
            self._log.append(host, "co-allocated", {"guest": guest.id, "fraction": begun.fraction})
            self._annotate(host)

    def order(self, order: QuotaOrder) -> None:
        """Have the job's ranks enforce another quota."""
        scheduler, job = self._parts.scheduler, self._jobs.get(order.job)
        if job is None or order.job not in scheduler.running:
            return
        running = scheduler.running[order.job]
        self._annotate(job)
        if order.job in self._orders:
            self._parts.executor.limit(order.job, self._next(running))

    def limited(self, job: ActiveJob, order: int, ways: Sequence[str]) -> None:
        """Note that a quota holds on all of the job's ranks."""
        fraction = self._orders.get(job.id, [1.0])[order:] or [1.0]
        self._parts.scheduler.co_scheduling.enforced(ways)
        if fraction[0] != 1.0 or order:
            self._log.append(job, "quota", {"fraction": fraction[0], "enforcement": ",".join(ways)})

    def _ended(self, job: ActiveJob) -> None:
        """Note in the eventlogs of those that shared cores with a job that it has ended."""
        self._orders.pop(job.id, None)
        for other in self._parts.scheduler.co_scheduling.parted.pop(job.id, ()):
            if (left := self._jobs.get(other)) is not None and left.id in self._parts.scheduler.running:
                self._log.append(left, "released", {"job": job.id})
                self._annotate(left)

    def _annotate(self, job: ActiveJob) -> None:
        running = self._parts.scheduler.running[job.id]
        shown = {"host": running.host, "guests": list(running.guests), "quota": running.quota}
        self._log.annotate(job, {ANNOTATION: shown})

    def _next(self, running: RunningJob) -> dict[int, RankLimit]:
        orders = self._orders.setdefault(running.id, [])
        orders.append(running.quota)
        pool = self._parts.scheduler.pool
        own = pool.allocation(running.id)
        cores = own if running.host is None else pool.allocation(running.host)
        return limits(own, cores, running.quota, len(orders) - 1, guest=running.host is not None)


def limits(
    own: Allocation, cores: Allocation, fraction: float, order: int, *, guest: bool
) -> dict[int, RankLimit]:
    """Return the limit on each rank of a job that may use this fraction of the time of `cores`."""
    return {rank: _limit(bits, cores[rank][0], fraction, order, guest) for rank, (bits, _) in own.items()}


def _limit(own: int, cores: int, fraction: float, order: int, guest: bool) -> RankLimit:
    size = own.bit_count()
    if fraction == 1.0:
        return RankLimit(cores=None, size=size, ids=list(ids(own)), order=order)
    quota = fraction * cores.bit_count()
    whole = max(1, round(quota))
    given = highest(cores, whole) if guest else cores & ~highest(cores, cores.bit_count() - whole)
    return RankLimit(cores=quota, size=size, ids=list(ids(given)), order=order)
