"""Jobs go onto as few nodes as possible, and onto those that leave the least free: whole nodes stay for
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.placement.room import allocation_of, by_node, packed, rooms_of, sizes_of, take_nodes
from queue_policies.settings import affinity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView
    from queue_policies.placement.room import RankRoom


@dataclass(frozen=True, slots=True)
class PackNodes:
    """The fullest nodes come first."""

    name: ClassVar[str] = "pack"
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Go by the least free cores, then by the lowest rank."""
        rooms = sorted(rooms_of(ask, nodes), key=_free_cores)
        if by_node(ask):
            return take_nodes(ask, rooms, nodes)
        sizes = sizes_of(ask)
        given: list[RankRoom] = []
        while sizes:
            count, room = _best(rooms, sizes)
            if room is None:
                return packed(ask, nodes)
            for slots in sizes[:count]:
                room.give(slots)
            del sizes[:count]
            rooms.remove(room)
            given.append(room)
        return allocation_of(ask, given)


def _free_cores(room: RankRoom) -> tuple[int, int]:
    return room.cores, room.rank


def _best(rooms: Sequence[RankRoom], sizes: Sequence[int]) -> tuple[int, RankRoom | None]:
    """Return the fullest rank that all these workers fit on, else the one that most fit on, and how many."""
    most, best = 0, None
    for room in rooms:
        count = min(room.count(sizes[0]), len(sizes))
        if count > most:
            most, best = count, room
        if count == len(sizes):
            break
    return most, best
