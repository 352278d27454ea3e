"""Each worker goes onto the node with the most free cores; where no workers are named, each slot does."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.placement.room import (
    allocation_of,
    by_node,
    packed,
    rooms_of,
    sizes_of,
    take_nodes,
)
from queue_policies.settings import affinity

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView
    from queue_policies.placement.room import RankRoom


@dataclass(frozen=True, slots=True)
class SpreadNodes:
    """The emptiest nodes come first."""

    name: ClassVar[str] = "spread"
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Go by the most free cores, then by the lowest rank."""
        line = [(-room.cores, room.rank, room) for room in rooms_of(ask, nodes)]
        heapq.heapify(line)
        if by_node(ask):
            return take_nodes(ask, (room for _, _, room in sorted(line)), nodes)
        given: dict[int, RankRoom] = {}
        aside: list[tuple[int, int, RankRoom]] = []  # those where no worker of this size fits
        size = 0
        for slots in sizes_of(ask):
            if slots != size:
                size = slots
                line += aside
                aside.clear()
                heapq.heapify(line)
            while line and not line[0][2].fits(slots):
                aside.append(heapq.heappop(line))
            if not line:
                return packed(ask, nodes)
            room = line[0][2]
            room.give(slots)
            given[room.rank] = room
            heapq.heapreplace(line, (-room.cores, room.rank, room))
        return allocation_of(ask, given.values())
