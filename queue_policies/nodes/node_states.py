"""Which nodes there are, which of them can be given to jobs, and what is free on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes import placing
from queue_policies.nodes.constraints import MAX_REMEMBERED, Constraints
from queue_policies.nodes.occupancy import Occupancy
from queue_policies.nodes.shared_cores import SharedCores

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, Matches, RankResources
    from queue_policies.placement.protocol import Placement


class NodeStates:
    """The nodes of an instance. Those that are up and not drained can be given to jobs."""

    def __init__(
        self, nodes: Sequence[ClusterNode], matches: Matches, placement: Placement | None = None
    ) -> None:
        self.nodes = list(nodes)
        """By rank."""
        self.constraints = Constraints(self.nodes, matches)
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
        self.placement = None if placing.is_plain(placement) else placement
        """Where requests go; None: low ranks are filled first, whatever is known of their tasks."""
        self.occupancy = None if self.placement is None else Occupancy(self.nodes, self.rank_resources)
        """Who holds what on each node; None: the placement does not go by that."""
        self.shared = SharedCores()
        """The jobs that have cores together."""
        self._allocations: dict[int, Allocation] = {}
        self._eligible: dict[Hashable, tuple[int, ...]] = {}  # by constraint, until a rank is marked

    def mark(self, rank: int, *, up: bool | None = None, drained: bool | None = None) -> None:
        """Set whether a rank is up, and whether it is drained; None: no change."""
        for members, present in ((self.up, up), (self.drained, drained)):
            if present is not None:
                (members.add if present else members.discard)(rank)
        self.usable = frozenset(self.up - self.drained)
        self._eligible.clear()
        self.free = sum(self.rank_resources[each][0].bit_count() for each in self.usable)

    def allocation(self, job: int) -> Allocation:
        """Return the job's resources."""
        return self._allocations.get(job, {})

    def allocated(self) -> Allocation:
        """Return the resources of all jobs together."""
        return {
            node.rank: (node.cores & ~cores, node.gpus & ~gpus)
            for node, (cores, gpus) in zip(self.nodes, self.rank_resources, strict=True)
            if (cores, gpus) != (node.cores, node.gpus)
        }


def eligible(states: NodeStates, constraint: Hashable) -> tuple[int, ...]:
    """Return the usable ranks that satisfy the constraint, ascending."""
    known = states._eligible
    found = known.get(constraint)
    if found is None:
        if len(known) > MAX_REMEMBERED:
            known.clear()
        ranks = states.constraints.ranks(constraint)
        found = known[constraint] = tuple(rank for rank in ranks if rank in states.usable)
    return found


def change(states: NodeStates, allocation: Allocation, *, taken: bool) -> None:
    """Take these resources, which are free, or return them."""
    rank_resources, usable = states.rank_resources, states.usable
    for rank, (cores, gpus) in allocation.items():
        free = rank_resources[rank]
        rank_resources[rank] = (
            (free[0] & ~cores, free[1] & ~gpus) if taken else (free[0] | cores, free[1] | gpus)
        )
        if rank in usable:
            states.free += -cores.bit_count() if taken else cores.bit_count()


def hold_as_guest(states: NodeStates, job: int, host: int, allocation: Allocation) -> None:
    """Give a job these cores, which its host has."""
    states.shared.join(job, host)
    if states.occupancy is not None:
        states.occupancy.hold(job, allocation, None)
    states._allocations[job] = allocation


def replace_node(states: NodeStates, node: ClusterNode) -> None:
    """Use another record of a node, with the same cores and GPUs: its domains have become known."""
    states.nodes[node.rank] = node
    if states.occupancy is not None:
        states.occupancy.changed((node.rank,))
