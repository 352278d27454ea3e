"""The allocations of real Flux's jobs, and their changes while the jobs run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from broker_config.formats import resource_set
from broker_config.formats.constraints import matches
from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import RequestedResources
from minicluster.flux_scheduler.errors import NoRoom
from queue_policies.nodes.node_states import replace_node
from queue_policies.nodes.pool import Pool
from queue_policies.orders.resizing import Resizing
from queue_policies.records import Change, Happened, RunningJob
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_config.formats.resource_set import Allocation, R
    from minicluster.flux_scheduler.ranks import Ranks
    from queue_policies.placement.protocol import Placement
    from queue_policies.placement.records import TaskShape
    from queue_policies.queue import IndexedQueue


class JobAllocations:
    """The pool and the running jobs. `changed` is called with each change for the policy."""

    def __init__(
        self,
        ranks: Ranks,
        queue: IndexedQueue,
        changed: Callable[[Change], None],
        placement: Placement | None = None,
    ) -> None:
        self.ranks = ranks
        self._placement = placement
        self.pool = Pool(ranks.filled(), matches, placement)
        self.running = RunningJobs()
        self.resizing = Resizing(self.pool, queue, self.running, changed)
        self.malleable: set[int] = set()
        """The running jobs that can be resized."""
        self._on_change = changed

    def allocated(self) -> Allocation:
        """Return what all jobs hold together."""
        return self.pool.allocated()

    def resume(self, job: RunningJob, allocation: Allocation) -> None:
        """Add a job that ran before this scheduler was loaded. Raises NoRoom if its ranks have left."""
        gone = [rank for rank in allocation if rank not in self.ranks.nodes]
        if gone:
            raise NoRoom(f"job {f58(job.id)} runs on ranks that are not here: {', '.join(map(str, gone))}")
        self.pool.hold(job.id, allocation)
        self.running[job.id] = job

    def free(self, job: int, ranks: Iterable[int] | None = None) -> None:
        """Release what the job holds on these ranks; None: on all, as it has ended."""
        if job not in self.running:
            return
        if ranks is None:
            allocation, ended = self.pool.allocation(job), self.running[job]
            self.pool.release(job)
            self.running.pop(job)
            self.malleable.discard(job)
            self.resizing.ended(job, cast("RequestedResources", ended.request), allocation)
            self._changed(Happened.ENDED, job)
        elif job not in self.malleable:  # else companions may run there: all is released at its end
            allocation = self.pool.allocation(job)
            self.pool.reduce(job, {rank: allocation[rank] for rank in ranks if rank in allocation})
            self._stiffen(job, self.pool.allocation(job))

    def part(self, job: int, companion: int, allocation: Allocation) -> None:
        """Move resources from a job that ends to its companion, which holds them as a job of its own."""
        base = self.running[job]
        request = asked_for(allocation)._replace(shape=cast("RequestedResources", base.request).shape)
        self.pool.reduce(job, allocation)
        self.pool.hold(companion, allocation, base.profile)
        self.running[companion] = RunningJob(companion, request, base.started)

    def _stiffen(self, job: int, allocation: Allocation) -> None:
        """Make the job rigid: it has lost some of its resources, and keeps the rest until it ends."""
        before = self.running[job]
        request = asked_for(allocation)._replace(shape=cast("RequestedResources", before.request).shape)
        self.running[job] = before._replace(request=request, elastic=None, heeds=False)
        self.malleable.discard(job)
        self._changed(Happened.CLUSTER, job)

    def limit(self, job: int, end: float) -> None:
        """Change the time at which a running job will be ended."""
        if job in self.running:
            self.running[job] = self.running[job]._replace(end=end)
            self._changed(Happened.CLUSTER, job)

    def follow_ranks(self) -> None:
        """Update the pool after `ranks` has changed: which are up, or which there are."""
        if len(self.ranks.nodes) != sum(1 for node in self.pool.nodes if node.cores):
            self._rebuild()
        for rank in self.pool.up ^ self.ranks.up:
            self.pool.mark(rank, up=rank in self.ranks.up)
        self._changed(Happened.CLUSTER)

    def know_domains(self, domains: Mapping[int, tuple[int, ...]]) -> None:
        """Set the NUMA domains of ranks that are here, by which requests are placed from now on."""
        nodes = self.ranks.nodes
        others = [rank for rank, found in domains.items() if nodes[rank].domains != found]
        for rank in others:
            nodes[rank] = nodes[rank]._replace(domains=domains[rank])
            replace_node(self.pool, nodes[rank])
        if others:
            self._changed(Happened.CLUSTER)

    def know_shape(self, job: int, shape: TaskShape | None) -> None:
        """Set what is known of the tasks of a job that ran before this scheduler was loaded."""
        if job not in self.running or shape is None:
            return
        running, allocation = self.running[job], self.pool.allocation(job)
        request = cast("RequestedResources", running.request)._replace(shape=shape)
        self.running[job] = running._replace(request=request)
        self.pool.release(job)
        self.pool.hold(job, allocation, shape.profile)

    def _rebuild(self) -> None:
        """Make a pool without ranks that left, in which every job has what it still holds."""
        allocations = {job: self.pool.allocation(job) for job in self.running}
        self.pool = Pool(self.ranks.filled(), matches, self._placement)
        self.resizing.follow(self.pool)
        for job, allocation in allocations.items():
            here = {rank: resources for rank, resources in allocation.items() if rank in self.ranks.nodes}
            self.pool.hold(job, here, self.running[job].profile)
            if here != allocation:
                self._stiffen(job, here)

    def _changed(self, what: Happened, job: int | None = None) -> None:
        self._on_change(Change(what, job))


def asked_for(allocation: Allocation) -> RequestedResources:
    """Return a request for as many cores, for a job whose own request is not known any more."""
    cores = sum(cores.bit_count() for cores, _ in allocation.values())
    return RequestedResources(0, cores, 1, 0)


def running(
    job: int, priority: int, user: int, submitted: float, resources: R
) -> tuple[RunningJob, Allocation]:
    """Read a running job from its R, which Flux sends when the scheduler is loaded."""
    allocation = resource_set.allocation_of(resources)
    times = resource_set.times_of(resources)
    record = RunningJob(
        job,
        asked_for(allocation),
        times.starttime,
        times.expiration or math.inf,
        priority=priority,
        submitted=submitted,
        user=user,
    )
    return record, allocation
