"""The placement that there was first: low ranks are filled first, and on each rank the lowest cores and GPUs.

With an affinity other than `none` workers stay in one piece, and a worker's cores are of one domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.nodes import low_ranks
from queue_policies.placement.records import Affinity
from queue_policies.placement.room import by_node, packed, rooms_of, take_nodes
from queue_policies.settings import affinity

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView


@dataclass(frozen=True, slots=True)
class LowRank:
    """Low ranks are filled first."""

    name: ClassVar[str] = "low-rank"
    affinity: str = affinity("none")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Fill the lowest ranks."""
        if ask.affinity is Affinity.NONE:
            return low_ranks.place(ask.request, nodes.ranks, nodes.free, nodes.nodes)
        if by_node(ask):
            return take_nodes(ask, rooms_of(ask, nodes), nodes)
        return packed(ask, nodes)
