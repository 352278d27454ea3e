"""Trials: scratch copies of a pool, on which policies try allocations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.errors import PlacementDefect
from queue_policies.nodes import low_ranks, placing
from queue_policies.nodes.low_ranks import slots_on
from queue_policies.nodes.node_states import eligible
from queue_policies.nodes.occupancy import Occupancy, PresentNodes, TrialOccupancy
from queue_policies.nodes.shared_cores import without

if TYPE_CHECKING:
    from queue_policies.nodes.node_states import NodeStates
    from queue_policies.nodes.records import Allocation, NodeRequest, RankResources
    from queue_policies.placement.protocol import Placement
    from queue_policies.records import Request, Sketch


def checked_request(request: Request) -> NodeRequest:
    """Return the request. Raises TypeError if it is no request for nodes and cores."""
    if not hasattr(request, "slots"):
        raise TypeError(f"{request!r} is no request for nodes and cores")
    return cast("NodeRequest", request)


class AllocationTrial:
    """A scratch copy of a pool, on which a policy tries allocations. Only ranks that change are copied."""

    __slots__ = ("_changed", "_given", "_placed", "_pool", "free")

    def __init__(self, pool: NodeStates, origin: AllocationTrial | None = None) -> None:
        self._pool = pool
        self.free: int = pool.free if origin is None else origin.free
        """Free cores on usable ranks."""
        self._changed: dict[int, RankResources] = {} if origin is None else dict(origin._changed)
        self._placed: dict[int, Allocation] = {} if origin is None else dict(origin._placed)
        self._given: frozenset[int] = frozenset() if origin is None else origin._given

    def fits(self, request: Request) -> bool:
        """Return whether `request` can be placed now."""
        return self.place(request) is not None

    def place(self, request: Request) -> Allocation | None:
        """Return an allocation for `request`, or None. Raises TypeError as `Pool.place` does."""
        asked = checked_request(request)
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
        if placed is None:
            placed = self._pool.allocation(job)
            if self._pool.shared:  # what others have as well is free once all of them are gone
                others = set(self._pool.shared.others(job)) - self._given
                placed = without(placed, others, self._pool.allocation)
                self._given |= {job}
        for rank, (cores, gpus) in placed.items():
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


class PlacementTrial(AllocationTrial):
    """A trial of a pool with a placement, which also knows the jobs that were placed in the trial."""

    __slots__ = ("_misfits", "_occupancy", "_returned")

    def __init__(self, pool: NodeStates, origin: PlacementTrial | None = None) -> None:
        super().__init__(pool, origin)
        self._returned: list[int] = []  # ranks on which jobs were given back, in this order
        self._misfits: dict[
            Request, int
        ] = {}  # for one node: how many of these there were when it did not fit
        self._occupancy: TrialOccupancy = (
            TrialOccupancy(cast("Occupancy", pool.occupancy), self._resources_on, pool.nodes)
            if origin is None
            else origin._occupancy.copy(self._resources_on)
        )

    def fits(self, request: Request) -> bool:
        """Return whether `request` can be placed now.

        A reservation tries this at the end of each running job. What goes onto one node, and did not fit,
        fits only if a node has room for it on which something was given back since.
        """
        tried = self._misfits.get(request)
        if tried is None and self._divides(request):
            return self._has_slots(request)
        if tried is not None:
            size, resources = request.size, self._resources_on
            self._misfits[request] = len(self._returned)
            if not any(resources(rank)[0].bit_count() >= size for rank in self._returned[tried:]):
                return False
        if self.place(request) is not None:
            self._misfits.pop(request, None)
            return True
        if tried is None and request.size <= self.free and self._is_for_one_node(request):
            self._misfits[request] = len(self._returned)
        return False

    def _divides(self, request: Request) -> bool:
        return placing.divides(checked_request(request), cast("Placement", self._pool.placement))

    def _has_slots(self, request: Request) -> bool:
        """Return whether there are enough slots, wherever they are."""
        asked, pool = checked_request(request), self._pool
        if asked.size > self.free:
            return False
        if asked.constraint is None and asked.cores == 1 and not asked.gpus:
            return True
        missing = asked.slots
        for rank in eligible(pool, asked.constraint):
            missing -= slots_on(self._resources_on(rank), asked)
            if missing <= 0:
                return True
        return False

    def _is_for_one_node(self, request: Request) -> bool:
        asked, pool = checked_request(request), self._pool
        if not placing.goes_onto_one_node(asked, cast("Placement", pool.placement)):
            return False
        ranks = eligible(pool, asked.constraint)
        return any(pool.nodes[rank].cores.bit_count() >= asked.size for rank in ranks)

    def place(self, request: Request) -> Allocation | None:
        """Return the placement's allocation for `request`, or None. Raises PlacementDefect."""
        asked = checked_request(request)
        if asked.size > self.free:
            return None
        pool = self._pool
        view = PresentNodes(pool.nodes, eligible(pool, asked.constraint), self._occupancy)
        return placing.found(cast("Placement", pool.placement), asked, view)

    def take(self, job: int, request: Request) -> bool:
        """Allocate the request to the job and return True, or change nothing and return False."""
        try:
            if not super().take(job, request):
                return False
        except PlacementDefect as defect:
            raise placing.of_job(defect, job) from defect
        self._occupancy.hold(job, self._placed[job], placing.profile_of(request))
        return True

    def give(self, job: int) -> None:
        """Release a job's resources, whether it really runs or was placed here."""
        allocation = self._placed[job] if job in self._placed else self._pool.allocation(job)
        super().give(job)
        self._returned += allocation
        self._occupancy.release(job, allocation)

    def mirror(self, other: Sketch, job: int) -> None:
        """Give the job the resources that it has in `other`, which must be free here."""
        super().mirror(other, job)
        profile = cast("PlacementTrial", other)._occupancy.profile(job)
        self._occupancy.hold(job, self._placed[job], profile)

    def copy(self) -> PlacementTrial:
        """Return an independent copy."""
        return PlacementTrial(self._pool, self)
