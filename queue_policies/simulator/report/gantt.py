"""A Gantt chart: which job held which units when.

On nodes these are the cores that the placement chose, a node's above those of the node before it, and its
domains one above the other. Where the simulation only counts units, this assigns them.
"""

from __future__ import annotations

import heapq
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.nodes.slots import ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.outcome import JobOutcome, RunOutcome

Rectangle = tuple[float, float, int, int, int]
"""Begin, end, first unit, number of units, and the job's index in the outcome."""


def rectangles(outcome: RunOutcome, most: int) -> list[Rectangle]:
    """Return the first `most` jobs as rectangles. Low units are filled first, where they are only counted."""
    if outcome.nodes:
        return list(_on_nodes(outcome, most))
    jobs = outcome.jobs[:most]
    free = list(range(outcome.total))
    units: list[list[int]] = [[] for _ in jobs]
    since = [0.0] * len(jobs)
    found: list[Rectangle] = []
    for time, _, job, size in sorted(_changes(jobs)):
        mine = units[job]
        found.extend(
            (since[job], time, first, number, job) for first, number in _runs(mine) if time > since[job]
        )
        since[job] = time
        while len(mine) > size:
            heapq.heappush(free, mine.pop())
        while len(mine) < size and free:
            mine.append(heapq.heappop(free))
        mine.sort()
    return found


class DomainLane(NamedTuple):
    """What a node's domain has of the units of the chart."""

    host: str
    number: int
    """Of the domain on its node."""
    first: int
    cores: tuple[int, ...]
    """Their ids, in the order of the units."""


def lanes(outcome: RunOutcome) -> list[DomainLane]:
    """Return the domains of all nodes from the lowest unit on; none where units are only counted."""
    found: list[DomainLane] = []
    first = 0
    for node in outcome.nodes:
        for number, domain in enumerate(node.domains or (node.cores,)):
            found.append(DomainLane(node.host, number, first, tuple(ids(domain))))
            first += domain.bit_count()
    return found


def _on_nodes(outcome: RunOutcome, most: int) -> Iterator[Rectangle]:
    units: list[dict[int, int]] = [{} for _ in outcome.nodes]
    hosts = {node.host: node.rank for node in outcome.nodes}
    for lane in lanes(outcome):
        units[hosts[lane.host]].update(zip(lane.cores, range(lane.first, outcome.total), strict=False))
    for index, allocations in enumerate(outcome.allocations[:most]):
        for (begin, allocation), (end, _) in pairwise(allocations):
            if end > begin:
                mine = sorted(_units(allocation, units))
                yield from ((begin, end, first, number, index) for first, number in _runs(mine))


def _units(allocation: Allocation, units: Sequence[dict[int, int]]) -> Iterator[int]:
    for rank, (cores, _) in allocation.items():
        yield from (units[rank][core] for core in ids(cores))


def _changes(jobs: Sequence[JobOutcome]) -> Iterator[tuple[float, int, int, int]]:
    """Yield the time, whether units are taken (returns come first), the job's index, and its new size."""
    for index, job in enumerate(jobs):
        before = 0
        for time, size in job.sizes:
            yield time, int(size > before), index, size
            before = size


def _runs(units: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield each range of consecutive units: its first unit and its length."""
    for _, members in groupby(enumerate(units), key=lambda pair: pair[1] - pair[0]):
        run = [unit for _, unit in members]
        yield run[0], len(run)
