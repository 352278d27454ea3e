"""Which nodes there are, which of them can be given to jobs, and what is free on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.constraints import Constraints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, Matches, RankResources


class NodeStates:
    """The nodes of an instance. Those that are up and not drained can be given to jobs."""

    def __init__(self, nodes: Sequence[ClusterNode], matches: Matches) -> None:
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

    def mark(self, rank: int, *, up: bool | None = None, drained: bool | None = None) -> None:
        """Set whether a rank is up, and whether it is drained; None: no change."""
        for members, present in ((self.up, up), (self.drained, drained)):
            if present is not None:
                (members.add if present else members.discard)(rank)
        self.usable = frozenset(self.up - self.drained)
        self.free = sum(self.rank_resources[each][0].bit_count() for each in self.usable)

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
