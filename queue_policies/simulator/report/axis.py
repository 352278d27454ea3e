"""Axes: ticks at round numbers, in one unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_TICKS = 8
"""About so many there are."""


class Unit(NamedTuple):
    """A unit of an axis."""

    size: float = 1.0
    name: str = ""


NONE = Unit()
SECONDS = Unit(1, "s")
TIMES = (Unit(86400, "d"), Unit(3600, "h"), Unit(60, "min"), SECONDS)


def time_unit(*lengths: float) -> Unit:
    """Return the unit of a plot: the largest of which each of its axes, so many seconds long, has two."""
    return next((unit for unit in TIMES if min(lengths) >= 2 * unit.size), SECONDS)


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`, linear or logarithmic, in whose `unit` ticks are counted."""

    low: float
    high: float
    label: str
    unit: Unit = NONE
    percent: bool = False
    whole: bool = False
    """Of whole numbers only."""
    log: bool = False

    @property
    def title(self) -> str:
        """The label with its unit."""
        return f"{self.label}, {self.unit.name}" if self.unit.name else self.label

    def position(self, value: float, start: float, stop: float) -> float:
        """Return the position of a value between two pixels."""
        if self.log:
            return start + (stop - start) * math.log(value / self.low) / math.log(self.high / self.low)
        return start + (stop - start) * (value - self.low) / ((self.high - self.low) or 1.0)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the values of ticks, with their labels."""
        low, high = self.low / self.unit.size, self.high / self.unit.size
        for value, step in _log_ticks(low, high) if self.log else _ticks(low, high, self.whole):
            yield value * self.unit.size, f"{value:.0%}" if self.percent else _number(value, step)


def _ticks(low: float, high: float, whole: bool) -> Iterator[tuple[float, float]]:
    """Yield round values, and the step between them."""
    rough = max(((high - low) or 1.0) / _TICKS, float(whole))
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(each for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-6) + 1):
        yield number * step, step


def _log_ticks(low: float, high: float) -> Iterator[tuple[float, float]]:
    """Yield one, two and five of each power of ten, or one and three where these are many."""
    factors = (1, 2, 5) if high / low < 1000 else (1, 3)
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in factors:
            if low <= factor * 10.0**exponent <= high:
                yield factor * 10.0**exponent, 10.0**exponent


def _number(value: float, step: float) -> str:
    """Return a number with as many digits as its step needs."""
    return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"
