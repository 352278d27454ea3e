"""Estimates run times from the progress of earlier runs of a program.

A run's progress in some time, at one size, gives the time of all its work at this size. Through the sizes
observed, T(n) = c + w / n is fitted by least squares with c and w not negative. With one size observed,
Amdahl's law as in `gain.Guess` goes through it; with none, that guess is by the time limit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.gain import UNLIMITED, Guess

if TYPE_CHECKING:
    from collections.abc import Hashable

    from queue_policies.records import RunTime


@dataclass(slots=True)
class _Observation:
    """The runs of one program at one size, added up."""

    share: float = 0.0
    """The share of the work that they have done."""
    seconds: float = 0.0
    """The time that this took."""


@dataclass(slots=True)
class Learner:
    """What was observed of each program."""

    serial: float = 0.05
    """The share of the work that a guess assumes not to run in parallel."""
    _seen: dict[Hashable, dict[int, _Observation]] = field(default_factory=lambda: defaultdict(dict))
    _fitted: dict[Hashable, tuple[float, float]] = field(default_factory=dict)

    def observe(self, program: Hashable, size: int, share: float, seconds: float) -> None:
        """Add an observation: a run did this share of its work in these seconds, at this size."""
        if share <= 0 or seconds <= 0:
            return
        seen = self._seen[program].setdefault(size, _Observation())
        seen.share += share
        seen.seconds += seconds
        self._fitted.pop(program, None)

    def estimate(self, program: Hashable, least: int, limit: float = math.inf) -> RunTime:
        """Return an estimate that follows later observations. `least` and `limit` are those of the job."""
        return _Learned(self, program, Guess(limit if limit < math.inf else UNLIMITED, least, self.serial))

    def fit(self, program: Hashable) -> tuple[float, float] | None:
        """Return the program's c and w, or None without observations."""
        if program not in self._fitted and self._seen.get(program):
            self._fitted[program] = self._fit(self._seen[program])
        return self._fitted.get(program)

    def _fit(self, seen: dict[int, _Observation]) -> tuple[float, float]:
        points = [(1 / size, each.seconds / each.share, each.share) for size, each in seen.items()]
        if len(points) == 1:
            (inverse, seconds, _) = points[0]
            return self.serial * seconds, (1 - self.serial) * seconds / inverse
        return _line(points)


def _line(points: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return intercept and slope, none negative, of the least-squares line through weighted points."""
    weight = sum(w for _, _, w in points)
    mean_x = sum(w * x for x, _, w in points) / weight
    mean_y = sum(w * y for _, y, w in points) / weight
    spread = sum(w * (x - mean_x) ** 2 for x, _, w in points)
    slope = sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points) / spread
    if slope <= 0:
        return mean_y, 0.0
    if slope * mean_x > mean_y:
        return 0.0, sum(w * x * y for x, y, w in points) / sum(w * x * x for x, _, w in points)
    return mean_y - slope * mean_x, slope


@dataclass(frozen=True, slots=True)
class _Learned:
    """The estimate of one program, for one job."""

    learner: Learner
    program: Hashable
    guess: Guess

    def seconds(self, size: int) -> float:
        """Return the seconds from start to end at this size."""
        fitted = self.learner.fit(self.program)
        if fitted is None:
            return self.guess.seconds(size)
        constant, work = fitted
        return constant + work / size
