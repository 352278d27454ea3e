"""The pool: what is free on each node, what each job holds, and where a request fits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from queue_policies.errors import PlacementDefect
from queue_policies.nodes import low_ranks, placing
from queue_policies.nodes.node_states import NodeStates, change, eligible
from queue_policies.nodes.occupancy import PresentNodes
from queue_policies.nodes.records import NOTHING
from queue_policies.nodes.shared_cores import without
from queue_policies.nodes.trial import AllocationTrial, PlacementTrial, checked_request
from queue_policies.placement.workers import workers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from queue_policies.nodes.occupancy import Occupancy
    from queue_policies.nodes.records import Allocation, ClusterNode, Matches, NodeRequest
    from queue_policies.placement.protocol import Placement
    from queue_policies.placement.records import Profile
    from queue_policies.placement.workers import TaskWorker
    from queue_policies.records import Request, Sketch

    Find = Callable[[NodeRequest, Sequence[int], low_ranks.Free, Sequence[ClusterNode]], Allocation | None]


def found_among(
    placement: Placement,
    occupancy: Occupancy,
    request: NodeRequest,
    ranks: Sequence[int],
    _free: low_ranks.Free,
    nodes: Sequence[ClusterNode],
) -> Allocation | None:
    """Return the placement's allocation for a request, as `low_ranks.place`. Raises PlacementDefect."""
    return placing.found(placement, request, PresentNodes(nodes, ranks, occupancy))


class Pool(NodeStates):
    """The resources of an instance, what each job holds, and where a request fits."""

    def __init__(
        self, nodes: Sequence[ClusterNode], matches: Matches, placement: Placement | None = None
    ) -> None:
        super().__init__(nodes, matches, placement)
        self._find: Find = low_ranks.place
        self._trial: Callable[[Pool], AllocationTrial] = AllocationTrial
        if self.placement is not None and self.occupancy is not None:
            self._find = partial(found_among, self.placement, self.occupancy)
            self._trial = PlacementTrial

    def sketch(self) -> Sketch:
        """Return a trial that begins with the present state."""
        return self._trial(self)

    def fits(self, request: Request) -> bool:
        """Return whether `request` can be placed now."""
        return self.place(request) is not None

    def place(self, request: Request, beside: Container[int] = ()) -> Allocation | None:
        """Return an allocation for `request` without the ranks `beside`, or None. Nothing is changed.

        Raises TypeError if it is no request for nodes and cores.
        """
        asked = checked_request(request)
        if asked.size > self.free:
            return None
        ranks = eligible(self, asked.constraint)
        if beside:
            ranks = tuple(r for r in ranks if r not in beside)
        return self._find(asked, ranks, self.rank_resources.__getitem__, self.nodes)

    def alloc(self, job: int, request: Request) -> Allocation | None:
        """Give the job its resources, or return None if they are not free now. Raises PlacementDefect."""
        try:
            allocation = self.place(request)
        except PlacementDefect as defect:
            raise placing.of_job(defect, job) from defect
        if allocation is not None:
            profile = None if self.occupancy is None else placing.profile_of(request)
            self.hold(job, allocation, profile)
        return allocation

    def extension(self, job: int, request: NodeRequest) -> Allocation | None:
        """Return further resources for the job, or None. Nothing is changed.

        For a request for nodes, they are on nodes where the job has none yet.
        """
        allocation = self.allocation(job) if request.nodes or request.exclusive else ()
        return self.place(request, allocation)

    def extend(self, job: int, request: NodeRequest) -> Allocation | None:
        """Give the job further resources, those of `extension`, or return None."""
        try:
            more = self.extension(job, request)
        except PlacementDefect as defect:
            raise placing.of_job(defect, job) from defect
        if more is not None:
            self.add(job, more, placing.profile_of(request))
        return more

    def hold(self, job: int, allocation: Allocation, profile: Profile | None = None) -> None:
        """Give the job exactly these resources, which are free. `profile` is that of its tasks."""
        change(self, allocation, taken=True)
        if self.occupancy is not None:
            self.occupancy.hold(job, allocation, profile)
        self._allocations[job] = allocation

    def add(self, job: int, more: Allocation, profile: Profile | None = None) -> None:
        """Add these resources, which are free, to the job's."""
        change(self, more, taken=True)
        if self.occupancy is not None:
            self.occupancy.hold(job, more, profile)
        allocation = dict(self.allocation(job))
        for rank, (cores, gpus) in more.items():
            had = allocation.get(rank, NOTHING)
            allocation[rank] = (had[0] | cores, had[1] | gpus)
        self._allocations[job] = allocation

    def reduce(self, job: int, part: Allocation) -> None:
        """Release a part of the job's resources."""
        change(self, part, taken=False)
        if self.occupancy is not None:
            self.occupancy.reduce(job, part)
        allocation = dict(self.allocation(job))
        for rank, (cores, gpus) in part.items():
            allocation[rank] = (allocation[rank][0] & ~cores, allocation[rank][1] & ~gpus)
            if allocation[rank] == NOTHING:
                del allocation[rank]
        self._allocations[job] = allocation

    def release(self, job: int) -> None:
        """Release all resources of the job."""
        allocation = self._allocations.pop(job, {})
        freed = without(allocation, self.shared.leave(job), self.allocation) if self.shared else allocation
        change(self, freed, taken=False)
        if self.occupancy is not None:
            self.occupancy.release(job, allocation)

    def workers_of(self, request: NodeRequest, allocation: Allocation) -> dict[int, tuple[TaskWorker, ...]]:
        """Return the task workers of such a job by rank: their cores, and their numbers of tasks."""
        granularity = getattr(self.placement, "granularity", "none")
        affinity = placing.affinity_of(request.shape, self.placement)
        return workers_of(request, allocation, self.nodes, granularity=granularity, affinity=affinity)
