"""Each worker goes onto a random node on which it fits; where no workers are named, each slot does.

What is random is a hash of the seed, the request, and what is free: the same state has the same answer. So a
trial and the start that follows from it agree, a replay of decisions returns what was recorded, and of two
equal requests both fit or neither does. Jobs that start one after another draw anew, as the first one changes
what is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

from queue_policies.placement.room import (
    allocation_of,
    by_node,
    packed,
    rooms_of,
    sizes_of,
    take_nodes,
)
from queue_policies.settings import affinity, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView
    from queue_policies.placement.room import RankRoom


@dataclass(frozen=True, slots=True)
class RandomNodes:
    """Workers go onto random nodes."""

    name: ClassVar[str] = "random"
    seed: int = setting(0, "draws of another seed are other draws")
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Draw a node for each worker."""
        rooms = rooms_of(ask, nodes)
        draws = _Draws(self.seed, ask, [(room.rank, *nodes.free(room.rank)) for room in rooms])
        if by_node(ask):
            return take_nodes(ask, draws.shuffled(rooms), nodes)
        left: list[RankRoom] = []
        size = 0
        for slots in sizes_of(ask):
            if slots != size:
                size = slots
                left = [room for room in rooms if room.fits(slots)]
            if not left:
                return packed(ask, nodes)
            index = draws.below(len(left))
            room = left[index]
            room.give(slots)
            if not room.fits(slots):
                del left[index]
        return allocation_of(ask, rooms)


class _Draws:
    """Numbers from a keyed hash."""

    def __init__(self, seed: int, ask: PlacementAsk, free: Sequence[tuple[int, int, int]]) -> None:
        asked = ask.request  # each engine has a record of its own for the same request
        request = (asked.nodes, asked.slots, asked.cores, asked.gpus, asked.exclusive, asked.constraint)
        self._key = blake2b(repr((seed, request, tuple(ask[1:]), free)).encode()).digest()
        self._count = 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit-1."""
        self._count += 1
        drawn = blake2b(self._count.to_bytes(8, "big"), key=self._key, digest_size=8)
        return int.from_bytes(drawn.digest(), "big") % limit

    def shuffled(self, rooms: Sequence[RankRoom]) -> list[RankRoom]:
        """Return the ranks in a random order."""
        left = list(rooms)
        return [left.pop(self.below(len(left))) for _ in rooms]
