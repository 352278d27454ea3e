"""Curves of outcomes: units in use and jobs that wait, over time, and how long jobs wait."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.simulator.experiment import SimulationRun
    from queue_policies.simulator.outcome import JobOutcome, RunOutcome

Point = tuple[float, float]


def utilization(outcome: RunOutcome, begin: float, end: float) -> list[Point]:
    """Return the share of the units in use, a corner of the step function a point."""
    return _corners(_allocation_steps(outcome.jobs), begin, end, 1 / outcome.total)


def waiting(outcome: RunOutcome, begin: float, end: float) -> list[Point]:
    """Return the number of jobs between submission and start, likewise."""
    return _corners(_queued(outcome.jobs), begin, end, 1.0)


def shared(outcome: RunOutcome, begin: float, end: float) -> list[Point]:
    """Return the share of the units on which a host has a guest, likewise."""
    return _corners(_shared_steps(outcome), begin, end, 1 / outcome.total)


def mean_utilization(outcome: RunOutcome, begin: float, end: float, bins: int) -> list[Point]:
    """Return the share of the units in use: the mean in each of `bins` equal parts of the time."""
    return _means(_allocation_steps(outcome.jobs), begin, end, bins, 1 / outcome.total)


def mean_waiting(outcome: RunOutcome, begin: float, end: float, bins: int) -> list[Point]:
    """Return the number of jobs between submission and start, likewise."""
    return _means(_queued(outcome.jobs), begin, end, bins, 1.0)


def waits(runs: Iterable[SimulationRun]) -> dict[str, list[float]]:
    """Return the ascending waits of each policy's jobs, of all seeds together."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.policy, []).extend(job.wait for job in run.outcome.jobs)
    return {policy: sorted(values) for policy, values in found.items()}


def distribution(ordered: Sequence[float], least: float, last: float, steps: int) -> list[Point]:
    """Return the corners of the share of ascending values that are no greater, from `least` to `last`.

    It rises at each value; of more than `steps` values only at so many of them, each time by what it should.
    """
    count = len(ordered)
    parts = min(count, steps)
    values = {max(least, ordered[-(-count * number // parts) - 1]) for number in range(1, parts + 1)}
    found, level = [(least, 0.0)], 0.0
    for value in sorted(values):
        found.append((value, level))
        level = bisect_right(ordered, value) / count
        found.append((value, level))
    return [*found, (last, level)]


def _allocation_steps(jobs: Iterable[JobOutcome]) -> Iterator[Point]:
    for job in jobs:
        before = 0
        for time, size in job.sizes:
            yield time, float(size - before)
            before = size


def _shared_steps(outcome: RunOutcome) -> Iterator[Point]:
    jobs = {job.id: job for job in outcome.jobs}
    for job, changes in outcome.quotas.items():
        ends = [*(change.time for change in changes[1:]), jobs[job].ended]
        for change, end in zip(changes, ends, strict=True):
            if change.host is not None:
                units = float(max(size for _, size in jobs[change.host].sizes))
                yield change.time, units
                yield end, -units


def _queued(jobs: Iterable[JobOutcome]) -> Iterator[Point]:
    for job in jobs:
        yield job.submitted, 1.0
        yield job.started, -1.0


def _corners(changes: Iterable[Point], begin: float, end: float, scale: float) -> list[Point]:
    """Return the corners of a step function, given by its changes."""
    level = 0.0
    found = [(begin, level)]
    for time, some in groupby(sorted(changes), itemgetter(0)):
        change = sum(each for _, each in some)
        if change:
            found += [(time, level * scale), (time, (level + change) * scale)]
            level += change
    return [*found, (end, level * scale)]


def _means(changes: Iterable[Point], begin: float, end: float, bins: int, scale: float) -> list[Point]:
    """Return the mean of a step function, given by its changes, in each bin."""
    width = (end - begin) / bins or 1.0
    sums = [0.0] * bins
    level, last = 0.0, begin
    for time, change in [*sorted(changes), (end, 0.0)]:
        _add(sums, level, (last - begin) / width, (min(time, end) - begin) / width)
        level, last = level + change, min(time, end)
    return [(begin + (index + 0.5) * width, total * scale) for index, total in enumerate(sums)]


def _add(sums: list[float], level: float, left: float, right: float) -> None:
    """Add a stretch of one level to the bins that it covers; bins are 1 wide."""
    while level and right > left:
        index = min(int(left), len(sums) - 1)
        stop = right if index == len(sums) - 1 else min(right, index + 1.0)
        sums[index] += level * (stop - left)
        left = stop


def pareto(points: Sequence[Point]) -> list[int]:
    """Return the indices of points that no other one beats in both coordinates; less is better."""
    front: list[int] = []
    best = float("inf")
    for index in sorted(range(len(points)), key=points.__getitem__):
        if points[index][1] < best:
            best = points[index][1]
            front.append(index)
    return front
