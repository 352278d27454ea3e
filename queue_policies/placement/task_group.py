"""The paper's placement: workers in groups, a group on one node, the groups of a job on different ones.

Source: Liu, Guitart, "Fine-Grained Scheduling for Containerized HPC Workloads in Kubernetes Clusters", 2022,
Algorithms 1, 3 and 4. Corrected: a worker goes into the group with the least requested CPU (the text's order
would put all into one); the score of a node counts against it other groups of the same job, not those of all
jobs; and it is lowered by those workers of the group that do not fit beside this one. Ties go to the most
free cores, then to the lowest rank. Groups avoid each other, but do not have to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.nodes.low_ranks import slots_on
from queue_policies.placement.granularity import GRANULARITY, NONE, POLICIES, granularity
from queue_policies.placement.records import ProfileKind
from queue_policies.placement.room import (
    allocation_of,
    by_node,
    packed,
    rooms_of,
    sizes_of,
    take_nodes,
    without_io,
)
from queue_policies.settings import affinity, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import PlacementAsk, PlacementView
    from queue_policies.placement.room import RankRoom


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Workers in groups, a group on a node."""

    name: ClassVar[str] = "task-group"
    granularity: str = setting(
        GRANULARITY, "into how many workers and groups a job's profile divides it", choices=POLICIES
    )
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Place the workers of one group after the other, each on the node with the best score."""
        rooms = rooms_of(ask, nodes)
        if by_node(ask):
            return take_nodes(ask, sorted(rooms, key=lambda room: (-room.cores, room.rank)), nodes)
        groups, asked = self._divided(ask, nodes)
        if ask.profile is not None and ask.profile.kind is ProfileKind.IO:
            apart = without_io(rooms, nodes)
            if _assign(grouped(sizes_of(asked), groups), apart):
                return allocation_of(asked, apart)
            rooms = rooms_of(ask, nodes)
        if _assign(grouped(sizes_of(asked), groups), rooms):
            return allocation_of(asked, rooms)
        return packed(asked, nodes)

    def _divided(self, ask: PlacementAsk, nodes: PlacementView) -> tuple[int, PlacementAsk]:
        """Return the number of groups, and the same with the number of workers that the profile makes of it.

        The user's number of workers stays. Where neither says anything, the tasks of one group may be apart.
        """
        whole = ((node.cores, node.gpus) for node in map(nodes.nodes.__getitem__, nodes.ranks))
        on_offer = [count for resources in whole if (count := slots_on(resources, ask.request))]
        if not on_offer:
            return 1, ask
        kind = None if ask.profile is None else ask.profile.kind
        divided = granularity(ask.request.slots, kind, self.granularity, on_offer, workers=ask.workers or 1)
        if ask.workers:
            return min(divided.groups, ask.workers), ask
        if kind is None or self.granularity == NONE:
            return divided.groups, ask
        return divided.groups, ask._replace(workers=divided.workers)


def grouped(sizes: Iterable[int], groups: int) -> list[list[int]]:
    """Return the workers of each group (Algorithm 3): each goes where the least is requested so far."""
    found: list[list[int]] = [[] for _ in range(groups)]
    requested = [0] * groups
    for slots in sizes:
        index = requested.index(min(requested))
        found[index].append(slots)
        requested[index] += slots
    return found


def _assign(groups: Iterable[Sequence[int]], rooms: Sequence[RankRoom]) -> bool:
    """Place the workers of all groups and return True, or return False where one does not fit."""
    nodes = _JobNodes(rooms)
    return all(nodes.place(sizes) for sizes in groups)


class _JobNodes:
    """The nodes for one job: where its groups are, and where the next worker goes (Algorithm 4)."""

    def __init__(self, rooms: Sequence[RankRoom]) -> None:
        self._rooms = rooms
        self._groups: dict[int, int] = {}  # how many groups of this job there are on a rank

    def place(self, sizes: Sequence[int]) -> bool:
        """Place the workers of a group and return True, or return False where one of them does not fit."""
        here: dict[int, int] = {}  # workers of the group by rank
        for number, slots in enumerate(sizes):
            room = self._best(slots, len(sizes) - number, here)
            if room is None:
                return False
            room.give(slots)
            here[room.rank] = here.get(room.rank, 0) + 1
        for rank in here:
            self._groups[rank] = self._groups.get(rank, 0) + 1
        return True

    def _best(self, slots: int, left: int, here: dict[int, int]) -> RankRoom | None:
        """Return the rank with the best score for a worker; `left` are those of its group with itself."""
        best, room = (0, 0), None
        groups = self._groups
        for each in self._rooms:
            rank, fitting = each.rank, each.count(slots)
            if fitting:
                score = here.get(rank, 0) - groups.get(rank, 0) + min(left, fitting)
                if room is None or (score, each.cores) > best:
                    best, room = (score, each.cores), each
        return room
