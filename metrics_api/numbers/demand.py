"""How many nodes an instance's jobs demand.

These are the nodes in use, and those that pending jobs which could run need besides: see `packing`. One more
node is the next rank. So a job with constraints for high ranks demands all ranks below, too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics_api.numbers.layout import layout
from metrics_api.numbers.packing import Capacity, Ground, Pile
from metrics_api.numbers.records import Hold

if TYPE_CHECKING:
    from metrics_api.numbers.records import AllocatedJob, SlotRequest, Snapshot

    WaitingRequests = list[tuple[SlotRequest, int]]  # jobs that could run: their request, and how many


@dataclass(frozen=True)
class Demand:
    """Numbers of demanded nodes."""

    nodes: int
    """By the jobs' requests."""
    floor: int
    """With every elastic job at its least size."""
    ceiling: int
    """With every elastic job at its greatest size."""


def demand(snapshot: Snapshot) -> Demand:
    """Return what all jobs demand: never less than the nodes in use, nor than the least size."""
    usage = NodeUsage(snapshot)
    waiting = _ready(snapshot)
    nodes = max(usage.busy, snapshot.minimum, min(usage.nodes(waiting), snapshot.maximum))
    if not any(request.most for request, _ in waiting) and not any(job.most for job in snapshot.running):
        return Demand(nodes, nodes, nodes)  # nothing elastic
    least = [(r.sized(r.least) if r.least else r, n) for r, n in waiting]
    most = [(_greatest(r, snapshot) if r.most else r, n) for r, n in waiting]
    floor = usage.nodes(least) - sum(map(_spare, snapshot.running))
    ceiling = usage.nodes(most) + sum(map(_wish, snapshot.running))
    return Demand(
        nodes,
        min(nodes, max(floor, snapshot.minimum)),
        max(nodes, min(ceiling, snapshot.maximum)),
    )


def demand_alone(snapshot: Snapshot) -> int:
    """Return what these jobs demand without other jobs and a least size; 0 without any."""
    usage = NodeUsage(snapshot)
    return max(usage.busy, min(usage.nodes(_ready(snapshot)), snapshot.maximum))


def _ready(snapshot: Snapshot) -> WaitingRequests:
    """Return the requests of pending jobs that could run."""
    found: Counter[SlotRequest] = Counter()
    for each in snapshot.pending:
        if each.hold == Hold.NONE:
            found[each.request] += each.count
    return list(found.items())


def _greatest(request: SlotRequest, snapshot: Snapshot) -> SlotRequest:
    """Return an elastic job's request at its greatest size, limited to what the instance can have."""
    nodes = snapshot.nodes[: snapshot.maximum]
    there = len(nodes) if request.nodes else sum(node.cores // max(request.cores, 1) for node in nodes)
    return request.sized(max(1, min(request.most, there)))


def _spare(job: AllocatedJob) -> int:
    """Return how many nodes an elastic job could give up."""
    return max(0, job.size - job.least) if job.least else 0


def _wish(job: AllocatedJob) -> int:
    """Return how many nodes more an elastic job could use."""
    return max(0, job.most - job.size)


class NodeUsage:
    """The nodes of a snapshot, with its running jobs on them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._layout = layout(snapshot.nodes[: snapshot.maximum])
        used: dict[int, list[int]] = {}
        for job in snapshot.running:
            for rank, cores, gpus in job.allocation:
                sums = used.setdefault(rank, [0, 0])
                sums[0] += cores
                sums[1] += gpus
        self.busy = len(used)
        wholes = self._layout.wholes
        # On nodes in use what is free, as far as a job could get it.
        self._gaps = {
            rank: Capacity(max(0, wholes[rank].cores - cores), max(0, wholes[rank].gpus - gpus))
            for rank, (cores, gpus) in used.items()
            if rank in self._layout.up
        }
        self._idle = wholes.keys() - used.keys()
        self._lost = self._layout.lost - used.keys()

    def nodes(self, waiting: WaitingRequests) -> int:
        """Return the nodes for running jobs and for these; jobs that fit nowhere are ignored."""
        groups: dict[frozenset[int], Pile] = {}
        for request, count in waiting:
            shape = self._layout.shape(request)
            if shape is not None:
                groups.setdefault(shape.ranks, Pile()).add(shape, count)
        if not groups:
            return self.busy
        wanted = [self.busy]
        for ranks in {self._layout.everywhere, *groups}:
            within = [pile for each, pile in groups.items() if each is ranks or each <= ranks]
            wanted += self._within(ranks, Pile.of(within))
        wanted += [sorted(ranks)[pile.apart - 1] + 1 for ranks, pile in groups.items()]
        return max(wanted)

    def _within(self, ranks: frozenset[int], pile: Pile) -> list[int]:
        """Return what items need that can only be on these ranks: the number of nodes, and the last rank."""
        wholes = self._layout.wholes
        gaps = [(self._gaps[rank], wholes[rank]) for rank in self._gaps.keys() & ranks]
        idle = sorted(self._idle & ranks)
        number = min(pile.more(Ground(gaps)), len(idle))
        if not number:
            return []
        last = idle[number - 1]
        # Ranks between that are drained for good have to be there, too.
        count = self.busy + number + sum(rank < last for rank in self._lost)
        return [count] if ranks == self._layout.everywhere else [count, last + 1]
