"""Curves over time: nodes by provider, what bursts have cost, and what was charged or reserved. Pure."""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from burst.lifecycle.states import BurstState
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from burst.costs.report.records import ReportData, ReportedBurst

Point = tuple[float, float]
MAX_POINTS = 400
"""Times at which costs are computed; between them they rise in straight lines."""
_BEYOND_STEPS = 100


def nodes(data: ReportData) -> dict[str, list[Point]]:
    """Return by provider how many nodes were there, a corner of the step function a point."""
    changes: dict[str, list[Point]] = {each.burst.provider: [] for each in data.bursts}
    for each in data.bursts:
        before = 0
        for count in each.counts:
            changes[each.burst.provider].append((count.at, float(count.nodes - before)))
            before = count.nodes
    return {name: _steps(found, data.begin, data.now) for name, found in changes.items()}


def cost(data: ReportData) -> list[Point]:
    """Return what all bursts have cost until each time, in micro-units: where it bends, or in even steps."""
    bends = {count.at for each in data.bursts for count in each.counts}
    bends |= {each.end(data.now) for each in data.bursts}
    times = sorted({data.begin, *bends, data.now})
    if len(times) > MAX_POINTS:
        step = (data.now - data.begin) / MAX_POINTS
        times = [data.begin + step * number for number in range(MAX_POINTS + 1)]
    return [(at, float(sum(_until(each, at, data.now) for each in data.bursts))) for at in times]


def _until(reported: ReportedBurst, at: float, now: float) -> int:
    """Return what a burst had cost at a time; what it was charged, once that is known."""
    if reported.charged is not None and at >= reported.end(now):
        return reported.charged
    return reported.cost(at) if reported.counts else 0


def used(data: ReportData) -> list[Point]:
    """Return what was charged or reserved at each time, in micro-units, as a step function."""
    changes: list[Point] = []
    for each in data.bursts:
        if each.reserved_at is None:
            continue
        worst = each.burst.amounts.get(ALL, 0)
        changes.append((each.reserved_at, float(worst)))
        beyond = list(_beyond(each, worst, data.now))
        changes += beyond
        if each.charged is not None:
            left = each.charged - worst - sum(map(itemgetter(1), beyond))
            changes.append((each.end(data.now), float(left)))
    return _steps(changes, data.begin, data.now)


def _beyond(reported: ReportedBurst, worst: int, now: float) -> Iterator[Point]:
    """Yield by how much more than was reserved a burst has cost from a time on, in even steps."""
    begin, end = reported.burst.created, reported.end(now)
    if reported.cost(end) <= worst:
        return
    before = worst
    for number in range(1, _BEYOND_STEPS + 1):
        at = begin + (end - begin) * number / _BEYOND_STEPS
        if (cost := reported.cost(at)) > before:
            yield at, float(cost - before)
            before = cost


def _steps(changes: Iterable[Point], begin: float, end: float) -> list[Point]:
    """Return the corners of a step function, given by its changes."""
    sums = [(at, sum(map(itemgetter(1), some))) for at, some in groupby(sorted(changes), itemgetter(0))]
    levels = [0.0, *accumulate(map(itemgetter(1), sums))]
    found = [(begin, 0.0)]
    for (at, _), (before, after) in zip(sums, pairwise(levels), strict=True):
        found += [(at, before), (at, after)]
    return [*found, (end, levels[-1])]


def is_open(reported: ReportedBurst) -> bool:
    """Return whether something of a burst may be left."""
    return reported.burst.state is not BurstState.DELETED
