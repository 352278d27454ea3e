"""Ours: a job's tasks go by the NUMA domains of the nodes, and by what others demand of these.

- Memory: one task after the other goes into the domain where the least bandwidth is demanded. As long as
  the demand of a domain stays below the knee, nothing gets slower, so no more are opened than that takes.
- CPU: all tasks go onto the node with the most free cores, half of them into each of two domains; where no
  node has room for all, into the domains with the most free cores. That spares a job whose profile is wrong,
  and that sends many messages, from sending them between nodes. `cores=emptiest` goes by domains alone, and
  `cores=fullest` takes those with the fewest.
- Network: all tasks go onto one node, the fullest that has room, half of them into each of two domains: so
  all domains keep free cores, and a memory-bound job finds some in each. With `network=domain` they go into
  one domain, a whole free one where there is one, else onto one node. A job that is larger than a node goes
  onto as few nodes as have room for it. It waits for them.
- Input and output: one worker a node, beside no other job of that kind where that is possible.
- Unknown: into one domain, else onto one node, else onto the nodes with the most free cores.

How many workers a job has is predicted from its profile: CPU one a task, memory one a domain, others one a
node.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.nodes.low_ranks import slots_on
from queue_policies.placement.distribution import distribute
from queue_policies.placement.domain_slots import DomainSlots
from queue_policies.placement.granularity import PREDICTED, fewest
from queue_policies.placement.node_loads import Domain, NodeLoad, load_of
from queue_policies.placement.records import Affinity, Profile, ProfileKind
from queue_policies.placement.room import (
    RankRoom,
    allocation_of,
    by_node,
    packed,
    rooms_of,
    sizes_of,
    take_nodes,
)
from queue_policies.settings import affinity, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, RankResources
    from queue_policies.placement.protocol import NodeJob, PlacementAsk, PlacementView

NODE, DOMAIN, EMPTIEST, FULLEST = "node", "domain", "emptiest", "fullest"


@dataclass(frozen=True, slots=True)
class Balanced:
    """Tasks go into the domains where the least is demanded of what they need."""

    name: ClassVar[str] = "balanced"
    granularity: ClassVar[str] = PREDICTED
    knee: float = setting(4.0, "demand of a domain up to which nothing gets slower", least=0)
    memory: float = setting(
        1.0, "bandwidth that a core of a memory-bound job demands, where it is unknown", least=0
    )
    cpu: float = setting(0.0, "the same for a job bound by its CPU", least=0)
    other: float = setting(0.0, "the same for all other jobs", least=0)
    cores: str = setting(
        NODE,
        "where jobs bound by their CPU go: onto one node, or first into the domains with the most or the"
        " fewest free cores",
        choices=(NODE, EMPTIEST, FULLEST),
    )
    network: str = setting(
        NODE,
        "whether a network-intensive job goes onto a node or, if possible, into one domain",
        choices=(NODE, DOMAIN),
    )
    affinity: str = affinity("best-effort")

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Place by the kind of the profile."""
        kind = None if ask.profile is None else ask.profile.kind
        table = nodes.summaries(self.load)
        if by_node(ask):
            return take_nodes(ask, self._in_order(ask, nodes, table), nodes)
        loads = [load for rank in nodes.ranks if (load := table[rank]).free]
        if kind is ProfileKind.IO and not ask.workers:
            return _one_a_node(ask, nodes, loads)
        if ask.workers:
            return self._workers(ask, nodes, _domains(loads), kind)
        if kind is ProfileKind.MEMORY:
            return self._below_the_knee(ask, nodes, _domains(loads))
        if kind is ProfileKind.CPU:
            on_node = _on_a_node(ask, nodes, loads, 1) if self.cores == NODE else None
            return on_node or self._by_cores(ask, nodes, _domains(loads))
        return self._in_one_piece(ask, nodes, loads)

    def _in_one_piece(
        self, ask: PlacementAsk, nodes: PlacementView, loads: Sequence[NodeLoad]
    ) -> Allocation | None:
        """Place a job whose tasks send each other messages, or of which nothing is known."""
        kind = None if ask.profile is None else ask.profile.kind
        across = kind is ProfileKind.NETWORK and self.network == NODE
        on_node = None
        if across and ask.affinity is not Affinity.REQUIRED:
            on_node = _on_a_node(ask, nodes, loads, -1)
        return on_node or _together(ask, nodes, loads)

    def divides(self, ask: PlacementAsk) -> bool:
        """Return whether such a job starts wherever there are enough slots, on whatever nodes."""
        if ask.workers or by_node(ask) or ask.affinity is Affinity.REQUIRED:
            return False
        return ask.profile is None or ask.profile.kind is not ProfileKind.NETWORK

    def demand(self, profile: Profile | None) -> float:
        """Return the bandwidth that one core of such a job demands."""
        if profile is None:
            return self.other
        if profile.bandwidth:
            return profile.bandwidth
        if profile.kind is ProfileKind.MEMORY:
            return self.memory
        return self.cpu if profile.kind is ProfileKind.CPU else self.other

    def load(self, node: ClusterNode, free: RankResources, jobs: Sequence[NodeJob]) -> NodeLoad:
        """Return what is free and what is demanded on a node."""
        return load_of(node, free, jobs, self.demand)

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
        given, sign = DomainSlots(ask, nodes), -1 if self.cores == FULLEST else 1
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
        sign = 1 if kind is ProfileKind.CPU and self.cores != FULLEST else -1
        return 0.0, sign * domain.busy

    def _in_order(self, ask: PlacementAsk, nodes: PlacementView, table: Sequence[NodeLoad]) -> list[RankRoom]:
        """Return the nodes in the order in which a request for nodes takes them."""

        def key(room: RankRoom) -> tuple[float, int, int]:
            load = table[room.rank]
            if ask.profile is not None and ask.profile.kind is ProfileKind.CPU:
                return 0.0, load.free if self.cores == FULLEST else -load.free, room.rank
            return sum(domain.demand for domain in load.domains), -load.free, room.rank

        return sorted(rooms_of(ask, nodes), key=key)


def _domains(loads: Iterable[NodeLoad]) -> list[Domain]:
    return [domain for load in loads for domain in load.domains]


def _on_a_node(
    ask: PlacementAsk, nodes: PlacementView, loads: Iterable[NodeLoad], sign: int
) -> Allocation | None:
    """Place a job on one node, evenly in its domains; None: no node has room for all of it.

    `sign` is 1 for the emptiest node, and -1 for the fullest.
    """
    slots, cores = ask.request.slots, ask.request.cores
    needed = slots * cores
    for _, _, load in sorted((-sign * load.free, load.rank, load) for load in loads if load.free >= needed):
        room = sum(-domain.busy // cores for domain in load.domains)
        if room >= slots and slots_on(nodes.free(load.rank), ask.request) >= slots:
            given = DomainSlots(ask, nodes)
            for _ in range(slots):
                given.give(max(load.domains, key=lambda domain: (given.room(domain), -domain.number)), 1)
            return given.allocation()
    return None


def _together(ask: PlacementAsk, nodes: PlacementView, loads: Sequence[NodeLoad]) -> Allocation | None:
    """Place a job whose tasks belong together: in one domain, else on one node, else on few nodes."""
    given, slots = DomainSlots(ask, nodes), ask.request.slots
    needed = slots * ask.request.cores
    enough = [load for load in loads if load.free >= needed]
    fitting = [
        (not each.whole, load.free if each.whole else -each.busy, load.free, each.rank, each.number, each)
        for load in enough
        for each in load.domains
        if -each.busy >= needed and (not ask.request.gpus or given.room(each) >= slots)
    ]
    if fitting:  # a whole domain comes first, on the fullest node; then the fullest domain
        given.give(min(fitting)[-1], slots)
        return given.allocation()
    rooms = rooms_of(ask, nodes, [load.rank for load in enough])
    best = min(((room.slots, room.rank, room) for room in rooms if room.slots >= slots), default=None)
    if best is not None:
        return _filled(ask, [best[2]])
    if ask.profile is None:
        return _filled(ask, _emptiest(ask, nodes, loads))
    return _on_few_nodes(ask, nodes, loads)


def _emptiest(ask: PlacementAsk, nodes: PlacementView, loads: Sequence[NodeLoad]) -> list[RankRoom]:
    """Return the ranks with room, those with the most of it first."""
    rooms = rooms_of(ask, nodes, [load.rank for load in loads])
    return sorted(rooms, key=lambda room: (-room.slots, room.rank))


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


def _on_few_nodes(ask: PlacementAsk, nodes: PlacementView, loads: Sequence[NodeLoad]) -> Allocation | None:
    """Place a job that is larger than a node on as few nodes as have room for it; None: it waits."""
    wholes = [(nodes.nodes[rank].cores, nodes.nodes[rank].gpus) for rank in nodes.ranks]
    if not ask.request.gpus and any(cores.bit_count() >= ask.request.size for cores, _ in wholes):
        return None
    whole = [slots_on(each, ask.request) for each in wholes]
    count = fewest(ask.request.slots, whole)
    if count == 1:
        return None
    taken = []
    rooms = rooms_of(ask, nodes, [load.rank for load in loads])
    left = sorted(rooms, key=lambda room: (room.slots, room.rank))
    for slots in distribute(ask.request.slots, count):
        room = next((room for room in left if room.slots >= slots), None)
        if room is None:
            return _filled(ask, _emptiest(ask, nodes, loads)[:count])
        left.remove(room)
        taken.append(room)
        for _ in range(slots):
            room.give(1)
    return allocation_of(ask, taken)


def _one_a_node(ask: PlacementAsk, nodes: PlacementView, loads: Sequence[NodeLoad]) -> Allocation | None:
    """Place one worker a node, beside no other job that does much input and output if that is possible."""
    line = heapq.nsmallest(ask.request.slots, [(load.has_io, -load.free, load.rank) for load in loads])
    apart = [rank for has_io, _, rank in line if not has_io]
    rooms = rooms_of(ask, nodes, apart)
    return _levelled(ask, rooms) or _levelled(ask, rooms_of(ask, nodes, [load.rank for load in loads]))


def _levelled(ask: PlacementAsk, rooms: Sequence[RankRoom]) -> Allocation | None:
    """Give the slots to these ranks in turns; None: they have too few."""
    if sum(room.slots for room in rooms) < ask.request.slots:
        return None
    missing = ask.request.slots
    while missing:
        for room in rooms:
            if missing and room.slots:
                room.give(1)
                missing -= 1
    return allocation_of(ask, rooms)
