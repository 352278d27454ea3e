"""The pool: what is free on each node, what each job holds, and where a request fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.nodes import low_ranks
from queue_policies.nodes.constraints import Constraints
from queue_policies.nodes.records import NOTHING
from queue_policies.placement.workers import workers_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from queue_policies.nodes.records import (
        Allocation,
        ClusterNode,
        Matches,
        NodeRequest,
        RankResources,
    )
    from queue_policies.placement.protocol import Placement
    from queue_policies.placement.workers import TaskWorker
    from queue_policies.records import Request, Sketch


def _checked(request: Request) -> NodeRequest:
    """Return the request. Raises TypeError if it is no request for nodes and cores."""
    if not hasattr(request, "slots"):
        raise TypeError(f"{request!r} is no request for nodes and cores")
    return cast("NodeRequest", request)


class Pool:
    """The resources of an instance. Ranks that are up and not drained can be given to jobs."""

    def __init__(
        self, nodes: Sequence[ClusterNode], matches: Matches, placement: Placement | None = None
    ) -> None:
        self.nodes = nodes
        """By rank."""
        self.placement = placement
        """Where requests go; None: low ranks are filled first."""
        self.constraints = Constraints(nodes, matches)
        self.up: set[int] = set()
        """Ranks whose broker has joined."""
        self.drained: set[int] = set()
        """Ranks that keep their jobs and get no new ones."""
        self.usable: frozenset[int] = frozenset()
        """Ranks that are up and not drained."""
        self.free = 0
        """Free cores on usable ranks."""
        self.total = sum(node.cores.bit_count() for node in nodes)
        """All cores."""
        self.rank_resources: list[RankResources] = [(node.cores, node.gpus) for node in nodes]
        """What is free on each rank, usable or not."""
        self._allocations: dict[int, Allocation] = {}

    def sketch(self) -> Sketch:
        """Return a trial that begins with the present state."""
        return AllocationTrial(self)

    def mark(self, rank: int, *, up: bool | None = None, drained: bool | None = None) -> None:
        """Set whether a rank is up, and whether it is drained; None: no change."""
        for members, present in ((self.up, up), (self.drained, drained)):
            if present is not None:
                (members.add if present else members.discard)(rank)
        self.usable = frozenset(self.up - self.drained)
        self.free = sum(self.rank_resources[each][0].bit_count() for each in self.usable)

    def fits(self, request: Request) -> bool:
        """Return whether `request` can be placed now."""
        return self.place(request) is not None

    def place(self, request: Request, beside: Container[int] = ()) -> Allocation | None:
        """Return an allocation for `request` without the ranks `beside`, or None. Nothing is changed.

        Raises TypeError if it is no request for nodes and cores.
        """
        asked = _checked(request)
        if asked.size > self.free:
            return None
        usable = self.usable
        ranks = (r for r in self.constraints.ranks(asked.constraint) if r in usable and r not in beside)
        return low_ranks.place(asked, ranks, self.rank_resources.__getitem__, self.nodes)

    def alloc(self, job: int, request: Request) -> Allocation | None:
        """Give the job its resources, or return None if they are not free now."""
        allocation = self.place(request)
        if allocation is not None:
            self.hold(job, allocation)
        return allocation

    def extension(self, job: int, request: NodeRequest) -> Allocation | None:
        """Return further resources for the job, or None. Nothing is changed.

        For a request for nodes, they are on nodes where the job has none yet.
        """
        allocation = self.allocation(job) if request.nodes or request.exclusive else ()
        return self.place(request, allocation)

    def extend(self, job: int, request: NodeRequest) -> Allocation | None:
        """Give the job further resources, those of `extension`, or return None."""
        more = self.extension(job, request)
        if more is not None:
            self.add(job, more)
        return more

    def hold(self, job: int, allocation: Allocation) -> None:
        """Give the job exactly these resources, which are free."""
        self._change(allocation, taken=True)
        self._allocations[job] = allocation

    def add(self, job: int, more: Allocation) -> None:
        """Add these resources, which are free, to the job's."""
        self._change(more, taken=True)
        allocation = dict(self.allocation(job))
        for rank, (cores, gpus) in more.items():
            had = allocation.get(rank, NOTHING)
            allocation[rank] = (had[0] | cores, had[1] | gpus)
        self._allocations[job] = allocation

    def reduce(self, job: int, part: Allocation) -> None:
        """Release a part of the job's resources."""
        self._change(part, taken=False)
        allocation = dict(self.allocation(job))
        for rank, (cores, gpus) in part.items():
            allocation[rank] = (allocation[rank][0] & ~cores, allocation[rank][1] & ~gpus)
            if allocation[rank] == NOTHING:
                del allocation[rank]
        self._allocations[job] = allocation

    def release(self, job: int) -> None:
        """Release all resources of the job."""
        self._change(self._allocations.pop(job, {}), taken=False)

    def allocation(self, job: int) -> Allocation:
        """Return the job's resources."""
        return self._allocations.get(job, {})

    def workers_of(self, request: NodeRequest, allocation: Allocation) -> dict[int, tuple[TaskWorker, ...]]:
        """Return the task workers of such a job by rank: their cores, and their numbers of tasks."""
        return workers_of(request, allocation, self.nodes)

    def allocated(self) -> Allocation:
        """Return the resources of all jobs together."""
        return {
            node.rank: (node.cores & ~cores, node.gpus & ~gpus)
            for node, (cores, gpus) in zip(self.nodes, self.rank_resources, strict=True)
            if (cores, gpus) != (node.cores, node.gpus)
        }

    def _change(self, allocation: Allocation, *, taken: bool) -> None:
        rank_resources, usable = self.rank_resources, self.usable
        for rank, (cores, gpus) in allocation.items():
            free = rank_resources[rank]
            rank_resources[rank] = (
                (free[0] & ~cores, free[1] & ~gpus) if taken else (free[0] | cores, free[1] | gpus)
            )
            if rank in usable:
                self.free += -cores.bit_count() if taken else cores.bit_count()


class AllocationTrial:
    """A scratch copy of a pool, on which a policy tries allocations. Only ranks that change are copied."""

    __slots__ = ("_changed", "_placed", "_pool", "free")

    def __init__(self, pool: Pool, origin: AllocationTrial | None = None) -> None:
        self._pool = pool
        self.free: int = pool.free if origin is None else origin.free
        """Free cores on usable ranks."""
        self._changed: dict[int, RankResources] = {} if origin is None else dict(origin._changed)
        self._placed: dict[int, Allocation] = {} if origin is None else dict(origin._placed)

    def fits(self, request: Request) -> bool:
        """Return whether `request` can be placed now."""
        return self.place(request) is not None

    def place(self, request: Request) -> Allocation | None:
        """Return an allocation for `request`, or None. Raises TypeError as `Pool.place` does."""
        asked = _checked(request)
        if asked.size > self.free:
            return None
        pool = self._pool
        usable = pool.usable
        ranks = (rank for rank in pool.constraints.ranks(asked.constraint) if rank in usable)
        return low_ranks.place(asked, ranks, self._resources_on, pool.nodes)

    def _resources_on(self, rank: int) -> RankResources:
        changed = self._changed.get(rank)
        return self._pool.rank_resources[rank] if changed is None else changed

    def take(self, job: int, request: Request) -> bool:
        """Allocate the request to the job and return True, or change nothing and return False."""
        allocation = self.place(request)
        if allocation is None:
            return False
        self._hold(job, allocation)
        return True

    def _hold(self, job: int, allocation: Allocation) -> None:
        for rank, (cores, gpus) in allocation.items():
            free = self._resources_on(rank)
            self._changed[rank] = (free[0] & ~cores, free[1] & ~gpus)
            if rank in self._pool.usable:
                self.free -= cores.bit_count()
        self._placed[job] = allocation

    def holds(self, job: int) -> bool:
        """Return whether the job was placed here."""
        return job in self._placed

    def give(self, job: int) -> None:
        """Release a job's resources, whether it really runs or was placed here."""
        placed = self._placed.pop(job, None)
        for rank, (cores, gpus) in (self._pool.allocation(job) if placed is None else placed).items():
            free = self._resources_on(rank)
            self._changed[rank] = (free[0] | cores, free[1] | gpus)
            if rank in self._pool.usable:
                self.free += cores.bit_count()

    def mirror(self, other: Sketch, job: int) -> None:
        """Give the job the resources that it has in `other`, which must be free here."""
        self._hold(job, cast("AllocationTrial", other)._placed[job])

    def copy(self) -> AllocationTrial:
        """Return an independent copy."""
        return AllocationTrial(self._pool, self)
