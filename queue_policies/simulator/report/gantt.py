"""A Gantt chart: which job held which units when. The simulation only counts units; this assigns them."""

from __future__ import annotations

import heapq
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.simulator.outcome import JobOutcome, RunOutcome

Rectangle = tuple[float, float, int, int, int]
"""Begin, end, first unit, number of units, and the job's index in the outcome."""


def rectangles(outcome: RunOutcome, most: int) -> list[Rectangle]:
    """Return the first `most` jobs as rectangles. Low units are filled first, as by our schedulers."""
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
