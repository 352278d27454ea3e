"""Models of speed-up. Each has `seconds(size)`: the time of the whole job at a size."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same time at any size, as for a rigid job whose trace has one run time."""

    time: float

    def seconds(self, size: int) -> float:  # noqa: ARG002 - that is its point
        """Return the seconds of the whole job on `size` units."""
        return self.time


@dataclass(frozen=True, slots=True)
class Amdahl:
    """Amdahl's law."""

    serial: float
    """Seconds on one unit."""
    parallel: float
    """The share of these that is divided among units."""

    def seconds(self, size: int) -> float:
        """Return the seconds of the whole job on `size` units."""
        return self.serial * (1 - self.parallel + self.parallel / size)


@dataclass(frozen=True, slots=True)
class Hyperbolic:
    """T(n) = constant + work / n."""

    constant: float
    work: float

    def seconds(self, size: int) -> float:
        """Return the seconds of the whole job on `size` units."""
        return self.constant + self.work / size


@dataclass(frozen=True, slots=True)
class PiecewiseLinear:
    """Linear interpolation between measured points (size, seconds), sizes ascending; outer lines go on.

    An outer line that goes on never gives fewer seconds than a perfect speed-up from its last point would.
    """

    points: tuple[tuple[int, float], ...]
    scale: float = 1.0

    def seconds(self, size: int) -> float:
        """Return the seconds of the whole job on `size` units."""
        if len(self.points) == 1:
            return self.scale * self.points[0][1]
        right = min(max(bisect_left(self.points, (size,)), 1), len(self.points) - 1)
        (x0, y0), (x1, y1) = self.points[right - 1], self.points[right]
        line = y0 + (y1 - y0) * (size - x0) / (x1 - x0)
        return self.scale * max(line, self.points[-1][1] * self.points[-1][0] / max(size, self.points[-1][0]))


@dataclass(frozen=True, slots=True)
class Table:
    """Seconds at some sizes, ascending; at a size between them, those of the next smaller one."""

    rows: tuple[tuple[int, float], ...]

    def seconds(self, size: int) -> float:
        """Return the seconds of the whole job on `size` units."""
        at = bisect_left(self.rows, (size + 1,)) - 1
        return self.rows[max(at, 0)][1]


SpeedUp = Fixed | Amdahl | Hyperbolic | PiecewiseLinear | Table


@dataclass(frozen=True, slots=True)
class Scaled:
    """Another model's times, multiplied by one factor: an estimate with an error."""

    model: SpeedUp
    factor: float

    def seconds(self, size: int) -> float:
        """Return the seconds of the whole job on `size` units, as estimated."""
        return self.factor * self.model.seconds(size)
