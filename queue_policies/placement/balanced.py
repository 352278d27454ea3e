"""Ours: a job's tasks go by the NUMA domains of the nodes, and by what others demand of these.

- Memory: one task after the other goes into the domain where the least bandwidth is demanded. As long as
  the demand of a domain stays below the knee, nothing gets slower, so no more are opened than that takes.
- CPU: these tasks go where the most cores are free, or (`cores=fullest`) the fewest.
- Network: all tasks go into one domain, a whole free one where there is one, else onto one node; a job that
  is larger than a node onto as few nodes as have room for it. It waits for them.
- Input and output: one worker a node, beside no other job of that kind where that is possible.
- Unknown: into one domain, else onto one node, else onto the nodes with the most free cores.

How many workers a job has is predicted from its profile: CPU one a task, memory one a domain, others one a
node.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from queue_policies.nodes.domains import domains_of
from queue_policies.nodes.low_ranks import slots_on
from queue_policies.placement.distribution import distribute
from queue_policies.placement.domain_slots import DomainSlots
from queue_policies.placement.granularity import PREDICTED, fewest
from queue_policies.placement.records import Profile, ProfileKind
from queue_policies.placement.room import (
    RankRoom,
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

    from queue_policies.nodes.records import Allocation, ClusterNode, RankResources
    from queue_policies.placement.protocol import NodeJob, PlacementAsk, PlacementView

EMPTIEST, FULLEST = "emptiest", "fullest"


class Domain(NamedTuple):
    """What is free in a domain, and what is demanded there. The order is that of memory-bound tasks."""

    demand: float
    busy: int
    """Cores in use, negative free ones: the emptiest domain comes first."""
    rank: int
    number: int
    """Of the domain on its node."""
    free: int
    """Bits of the free cores."""


@dataclass(frozen=True, slots=True)
class Balanced:
    """Tasks go into the domains where the least is demanded of what they need."""

    name: ClassVar[str] = "balanced"
    granularity: ClassVar[str] = PREDICTED
    knee: float = setting(6.0, "demand of a domain up to which nothing gets slower", least=0)
    memory: float = setting(
        1.0, "bandwidth that a core of a memory-bound job demands, where it is unknown", least=0
    )
    cpu: float = setting(0.0, "the same for a job bound by its CPU", least=0)
    other: float = setting(0.0, "the same for all other jobs", least=0)
    cores: str = setting(
        EMPTIEST, "which domains jobs bound by their CPU take first", choices=(EMPTIEST, FULLEST)
    )
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Place by the kind of the profile."""
        kind = None if ask.profile is None else ask.profile.kind
        table = nodes.summaries(self.domains)
        domains = [each for rank in nodes.ranks for each in table[rank]]
        if by_node(ask):
            return take_nodes(ask, self._in_order(domains, kind, ask, nodes), nodes)
        if kind is ProfileKind.IO:
            return _one_a_node(ask, nodes)
        if ask.workers:
            return self._workers(ask, nodes, domains, kind)
        if kind is ProfileKind.MEMORY:
            return self._below_the_knee(ask, nodes, domains)
        if kind is ProfileKind.CPU:
            return self._by_cores(ask, nodes, domains)
        return _together(ask, nodes, domains)

    def demand(self, profile: Profile | None) -> float:
        """Return the bandwidth that one core of such a job demands."""
        if profile is None:
            return self.other
        if profile.bandwidth:
            return profile.bandwidth
        if profile.kind is ProfileKind.MEMORY:
            return self.memory
        return self.cpu if profile.kind is ProfileKind.CPU else self.other

    def domains(self, node: ClusterNode, free: RankResources, jobs: Sequence[NodeJob]) -> tuple[Domain, ...]:
        """Return the domains of a node that have a free core."""
        found = []
        for index, domain in enumerate(domains_of(node)):
            left = free[0] & domain
            if left:
                demand = 0.0
                for job in jobs:
                    demand += (job.cores & domain).bit_count() * self.demand(job.profile)
                found.append(Domain(demand, -left.bit_count(), node.rank, index, left))
        return tuple(found)

    def _below_the_knee(
        self, ask: PlacementAsk, nodes: PlacementView, domains: list[Domain]
    ) -> Allocation | None:
        """Divide the slots evenly among so many domains that none gets above the knee, or else among all."""
        given, each = DomainSlots(ask, nodes), self.demand(ask.profile) * ask.request.cores
        heapq.heapify(domains)
        opened: list[Domain] = []
        missing = ask.request.slots
        while domains and missing > 0:
            domain = heapq.heappop(domains)
            opened.append(domain)
            below = (self.knee - domain.demand) / each if each else given.room(domain)
            missing -= max(0, int(min(below, given.room(domain))))
        line = [(domain.demand, domain.busy, domain.rank, domain.number, domain) for domain in opened]
        heapq.heapify(line)
        for _ in range(ask.request.slots):
            while line and not given.room(line[0][4]):
                heapq.heappop(line)
            if not line:
                return packed(ask, nodes)
            demand, busy, rank, number, domain = line[0]
            given.give(domain, 1)
            heapq.heapreplace(line, (demand + each, busy + ask.request.cores, rank, number, domain))
        return given.allocation()

    def _by_cores(
        self, ask: PlacementAsk, nodes: PlacementView, domains: Iterable[Domain]
    ) -> Allocation | None:
        """Give the slots one by one to the domain with the most free cores, or with the fewest."""
        given, sign = DomainSlots(ask, nodes), 1 if self.cores == EMPTIEST else -1
        line = [(sign * domain.busy, domain.rank, domain.number, domain) for domain in domains]
        heapq.heapify(line)
        for _ in range(ask.request.slots):
            while line and not given.room(line[0][3]):
                heapq.heappop(line)
            if not line:
                return packed(ask, nodes)
            busy, rank, number, domain = line[0]
            given.give(domain, 1)
            heapq.heapreplace(line, (busy + sign * ask.request.cores, rank, number, domain))
        return given.allocation()

    def _workers(
        self, ask: PlacementAsk, nodes: PlacementView, domains: Iterable[Domain], kind: ProfileKind | None
    ) -> Allocation | None:
        """Place so many workers as the user says, each in the best domain that holds it."""
        given, each = DomainSlots(ask, nodes), self.demand(ask.profile) * ask.request.cores
        line = [(*self._key(domain, kind), domain.rank, domain.number, domain) for domain in domains]
        for slots in sizes_of(ask):
            fitting = [entry for entry in line if given.room(entry[-1]) >= slots]
            if not fitting:
                return packed(ask, nodes)
            best = min(fitting)
            line.remove(best)
            given.give(best[-1], slots)
            demand = best[-1].demand + given.given(best[-1]) * each
            moved = best[-1]._replace(
                demand=demand, busy=best[-1].busy + given.given(best[-1]) * ask.request.cores
            )
            line.append((*self._key(moved, kind), moved.rank, moved.number, best[-1]))
        return given.allocation()

    def _key(self, domain: Domain, kind: ProfileKind | None) -> tuple[float, int]:
        """Return what orders domains for such a job, the best one first."""
        if kind is ProfileKind.MEMORY:
            return domain.demand, domain.busy
        sign = 1 if kind is ProfileKind.CPU and self.cores == EMPTIEST else -1
        return 0.0, sign * domain.busy

    def _in_order(
        self, domains: Iterable[Domain], kind: ProfileKind | None, ask: PlacementAsk, nodes: PlacementView
    ) -> list[RankRoom]:
        """Return the nodes in the order in which a request for nodes takes them."""
        keys: dict[int, tuple[float, int]] = {}
        for domain in domains:
            demand, busy = keys.get(domain.rank, (0.0, 0))
            keys[domain.rank] = (demand + domain.demand, busy + domain.busy)
        sign = 1 if kind is not ProfileKind.CPU or self.cores == EMPTIEST else -1
        return sorted(
            rooms_of(ask, nodes),
            key=lambda room: (keys[room.rank][0] if sign > 0 else 0.0, sign * keys[room.rank][1], room.rank),
        )


def _together(ask: PlacementAsk, nodes: PlacementView, domains: Sequence[Domain]) -> Allocation | None:
    """Place a job whose tasks belong together: in one domain, else on one node, else on few nodes."""
    given, slots = DomainSlots(ask, nodes), ask.request.slots
    fitting = [domain for domain in domains if given.room(domain) >= slots]
    if fitting:
        given.give(min(fitting, key=lambda domain: _left_over(domain, nodes)), slots)
        return given.allocation()
    rooms = rooms_of(ask, nodes)
    enough = [room for room in rooms if room.slots >= slots]
    if enough:
        best = min(enough, key=lambda room: (room.slots, room.rank))
        return _filled(ask, [best])
    if ask.profile is None:
        return _filled(ask, sorted(rooms, key=lambda room: (-room.slots, room.rank)))
    return _on_few_nodes(ask, nodes, rooms)


def _left_over(domain: Domain, nodes: PlacementView) -> tuple[bool, float, int, int, int]:
    """Return what orders domains for such a job: a whole one comes first, then the fullest."""
    whole = domain.free == domains_of(nodes.nodes[domain.rank])[domain.number]
    free_on_node = nodes.free(domain.rank)[0].bit_count()
    return (not whole, free_on_node if whole else -domain.busy, free_on_node, domain.rank, domain.number)


def _filled(ask: PlacementAsk, rooms: Iterable[RankRoom]) -> Allocation | None:
    """Fill one rank after the other."""
    missing, taken = ask.request.slots, []
    for room in rooms:
        taken.append(room)
        for _ in range(min(room.slots, missing)):
            room.give(1)
            missing -= 1
        if not missing:
            return allocation_of(ask, taken)
    return None


def _on_few_nodes(ask: PlacementAsk, nodes: PlacementView, rooms: Sequence[RankRoom]) -> Allocation | None:
    """Place a job that is larger than a node on as few nodes as hold it; None: it waits for a node, or
    several.
    """
    whole = [slots_on((nodes.nodes[rank].cores, nodes.nodes[rank].gpus), ask.request) for rank in nodes.ranks]
    count = fewest(ask.request.slots, whole)
    if count == 1:
        return None
    taken = []
    left = sorted(rooms, key=lambda room: (room.slots, room.rank))
    for slots in distribute(ask.request.slots, count):
        room = next((room for room in left if room.slots >= slots), None)
        if room is None:
            return _filled(
                ask, sorted(rooms_of(ask, nodes), key=lambda room: (-room.slots, room.rank))[:count]
            )
        left.remove(room)
        taken.append(room)
        for _ in range(slots):
            room.give(1)
    return allocation_of(ask, taken)


def _one_a_node(ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
    """Place one worker a node, beside no other job that does much input and output if that is possible."""
    rooms = sorted(rooms_of(ask, nodes), key=lambda room: (-room.slots, room.rank))
    apart = without_io(rooms, nodes)
    return _levelled(ask, apart) or _levelled(ask, rooms)


def _levelled(ask: PlacementAsk, rooms: Sequence[RankRoom]) -> Allocation | None:
    """Give the slots to these ranks in turns."""
    if sum(room.slots for room in rooms) < ask.request.slots:
        return None
    missing = ask.request.slots
    while missing:
        for room in rooms:
            if missing and room.slots:
                room.give(1)
                missing -= 1
    return allocation_of(ask, rooms)
