"""What is left on each rank while a placement divides a job's slots among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.domains import domains_of, lowest, parts_of
from queue_policies.nodes.low_ranks import slots_on, whole_nodes_wanted
from queue_policies.placement.distribution import distribute
from queue_policies.placement.packing import pack
from queue_policies.placement.records import Affinity, ProfileKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, NodeRequest, RankResources
    from queue_policies.placement.protocol import NodeJob, PlacementAsk, PlacementView


class RankRoom:
    """A rank while a job is placed: it is given workers, and cut at the end."""

    __slots__ = ("_affinity", "_domains", "_free", "_given", "_request", "cores", "parts", "rank", "slots")

    def __init__(self, node: ClusterNode, free: RankResources, ask: PlacementAsk) -> None:
        self.rank = node.rank
        self.slots = slots_on(free, ask.request)
        """How many slots are left."""
        self.parts: list[int] | None = None
        """With required affinity, how many of them are left in each domain."""
        self.cores = free[0].bit_count()
        """How many cores are left."""
        self._free = free
        self._request = ask.request
        self._affinity = ask.affinity
        self._domains = domains_of(node)
        self._given: list[tuple[int, int]] = []  # the slots of each worker, and its domain
        if ask.affinity is Affinity.REQUIRED:
            cores = ask.request.cores
            self.parts = [(free[0] & domain).bit_count() // cores for domain in self._domains]
            self.slots = min(self.slots, sum(self.parts))

    @property
    def workers(self) -> int:
        """How many workers it was given."""
        return len(self._given)

    def fits(self, slots: int) -> bool:
        """Return whether a worker of so many slots fits."""
        return slots <= self.slots and (self.parts is None or slots <= max(self.parts))

    def count(self, slots: int) -> int:
        """Return how many workers of so many slots fit."""
        if self.parts is None:
            return self.slots // slots
        return min(self.slots // slots, sum(part // slots for part in self.parts))

    def give(self, slots: int, domain: int | None = None) -> None:
        """Give it a worker that fits; with required affinity into the lowest domain, or into this one."""
        if self.parts is not None:
            if domain is None:
                domain = next(index for index, part in enumerate(self.parts) if part >= slots)
            self.parts[domain] -= slots
        self.slots -= slots
        self.cores -= slots * self._request.cores
        self._given.append((slots, domain or 0))

    def bins(self) -> list[int]:
        """Return the slots that are left where a worker must stay in one piece: on the rank, or by domain."""
        if self.parts is None:
            return [self.slots]
        found, left = [], self.slots
        for part in self.parts:  # there may be fewer GPUs than cores
            found.append(min(part, left))
            left -= found[-1]
        return found

    def cut(self, *, together: bool) -> RankResources:
        """Return the cores and GPUs for all that it was given.

        `together`: the workers are to have one common set of cores, unless affinity is required.
        """
        cores, gpus = self._free
        given, each = sum(slots for slots, _ in self._given), self._request.cores
        taken_gpus = lowest(gpus, given * self._request.gpus)
        if self._affinity is Affinity.NONE:
            return lowest(cores, given * each), taken_gpus
        taken = 0
        sizes = [(given, 0)] if together and self.parts is None else self._given
        for slots, domain in sizes:
            left = cores & ~taken
            if self.parts is not None:
                taken |= lowest(left & self._domains[domain], slots * each)
            else:
                taken |= _near(left, slots * each, self._domains)
        return taken, taken_gpus


def _near(cores: int, count: int, domains: Iterable[int]) -> int:
    """Return so many cores, of the lowest domain that has enough, else of several."""
    enough = (part for part in parts_of(cores, domains) if part.bit_count() >= count)
    return lowest(next(enough, cores), count)


def rooms_of(ask: PlacementAsk, nodes: PlacementView, ranks: Iterable[int] | None = None) -> list[RankRoom]:
    """Return the ranks on which at least one slot fits, in their order; for whole nodes, those that are free.

    `ranks` are some of those that may be used; None: all of them.
    """
    least, exclusive, free_on = ask.request.cores, ask.request.exclusive, nodes.free
    found = []
    for rank in nodes.ranks if ranks is None else ranks:
        free = free_on(rank)
        if free[0].bit_count() < least:
            continue
        node = nodes.nodes[rank]
        if not exclusive or free == (node.cores, node.gpus):
            room = RankRoom(node, free, ask)
            if room.fits(1):
                found.append(room)
    return found


def without_io(rooms: Sequence[RankRoom], nodes: PlacementView) -> list[RankRoom]:
    """Return those ranks on which no job does much input and output."""
    return [room for room in rooms if not any(_does_io(job) for job in nodes.jobs_on(room.rank))]


def _does_io(job: NodeJob) -> bool:
    return job.profile is not None and job.profile.kind is ProfileKind.IO


def sizes_of(ask: PlacementAsk) -> list[int]:
    """Return the slots of each worker, the largest first; where the placement decides, one each."""
    slots = max(ask.request.nodes, 1) * ask.request.slots
    return distribute(slots, ask.workers or slots)


def by_node(ask: PlacementAsk) -> bool:
    """Return whether the request is for a number of nodes, each with its slots."""
    return bool(ask.request.nodes or ask.request.exclusive)


def take_nodes(ask: PlacementAsk, rooms: Iterable[RankRoom], nodes: PlacementView) -> Allocation | None:
    """Return an allocation for a number of nodes, the first of these that fit."""
    count, slots = whole_nodes_wanted(ask.request) if ask.request.exclusive else _nodes_wanted(ask.request)
    workers = distribute(ask.workers, count)
    taken: list[RankRoom] = []
    for room in rooms:
        number = workers[len(taken)] or (1 if ask.affinity is not Affinity.REQUIRED or ask.workers else slots)
        sizes = distribute(slots, min(number, slots))
        if room.slots >= slots and _fill(room, sizes):
            taken.append(room)
            if len(taken) == count:
                return _whole(taken, nodes) if ask.request.exclusive else allocation_of(ask, taken)
    return None


def _nodes_wanted(request: NodeRequest) -> tuple[int, int]:
    return request.nodes, request.slots


def _whole(rooms: Iterable[RankRoom], nodes: PlacementView) -> Allocation:
    return {room.rank: (nodes.nodes[room.rank].cores, nodes.nodes[room.rank].gpus) for room in rooms}


def _fill(room: RankRoom, sizes: Sequence[int]) -> bool:
    """Give a rank all of these workers and return True, or return False if one does not fit."""
    for slots in sizes:
        if not room.fits(slots):
            return False
        room.give(slots)
    return True


def packed(ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
    """Return an allocation for workers of one or two sizes wherever there is any, on the lowest ranks."""
    sizes = sizes_of(ask)
    small = sizes[-1]
    larges = sum(slots > small for slots in sizes)
    rooms = rooms_of(ask, nodes)
    bins = [(room, index, slots) for room in rooms for index, slots in enumerate(room.bins())]
    found = pack([slots for _, _, slots in bins], small, larges, len(sizes) - larges)
    if found is None:
        return None
    for (room, index, _), number in zip(bins, found, strict=True):
        for slots in [small + 1] * number.large + [small] * number.small:
            room.give(slots, index)
    return allocation_of(ask, rooms)


def allocation_of(ask: PlacementAsk, rooms: Iterable[RankRoom]) -> Allocation:
    """Return what was given, ranks ascending."""
    given = sorted((room for room in rooms if room.workers), key=lambda room: room.rank)
    return {room.rank: room.cut(together=not ask.workers) for room in given}
