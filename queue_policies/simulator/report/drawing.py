"""Charts as SVG: curves over time and scattered points."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.simulator.report.series import Point

COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
    "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#003f5c", "#58508d",
)  # fmt: skip
WIDTH, HEIGHT = 1080, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 12, 40


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`, linear or logarithmic, with ticks at round numbers."""

    low: float
    high: float
    label: str
    times: bool = False
    percent: bool = False
    log: bool = False

    def position(self, value: float, start: float, stop: float) -> float:
        """Return the position of a value between two pixels."""
        if self.log:
            return start + (stop - start) * math.log(value / self.low) / math.log(self.high / self.low)
        return start + (stop - start) * (value - self.low) / ((self.high - self.low) or 1.0)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the values of ticks, with their labels."""
        if self.log:
            yield from self._log_ticks()
            return
        step = self._step()
        value = math.ceil(self.low / step - 1e-9) * step
        while value <= self.high + step * 1e-6:
            yield value, self._word(value, step)
            value += step

    def _log_ticks(self) -> Iterator[tuple[float, str]]:
        for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for each in (1, 3):
                value = each * 10.0**power
                if self.low <= value <= self.high:
                    yield value, _seconds(value, value) if self.times else f"{value:g}"

    def _step(self) -> float:
        rough = ((self.high - self.low) or 1.0) / 8
        units = (1, 60, 3600, 86400)
        unit = max((each for each in units if each <= rough), default=1) if self.times else 1
        power = 10.0 ** math.floor(math.log10(rough / unit))
        return unit * power * next(each for each in (1, 2, 5, 10) if each * power >= rough / unit)

    def _word(self, value: float, step: float) -> str:
        if self.percent:
            return f"{value:.0%}"
        if not self.times:
            return f"{value:,.0f}" if step >= 1 else f"{value:g}"
        return _seconds(value, step)


def _seconds(value: float, step: float) -> str:
    """Return a time with the largest unit that is not larger than the step between ticks."""
    for unit, letter in ((86400, "d"), (3600, "h"), (60, "min")):
        if step >= unit:
            return f"{value / unit:.3g} {letter}"
    return f"{value:g} s"


def colour(index: int) -> str:
    """Return the colour of a policy by its index."""
    return COLOURS[index % len(COLOURS)]


def curves(x: Axis, y: Axis, lines: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """Return a chart of named curves."""
    parts = list(_frame(x, y, HEIGHT, WIDTH))
    for index, (name, points) in enumerate(lines):
        path = " ".join(f"{_x(x, px):.1f},{_y(y, py, HEIGHT):.1f}" for px, py in points)
        parts.append(
            f'<polyline fill="none" stroke="{colour(index)}" stroke-width="1.4" points="{path}">'
            f"<title>{html.escape(name)}</title></polyline>"
        )
    return _svg(parts, WIDTH, HEIGHT)


def scatter(x: Axis, y: Axis, points: Sequence[tuple[str, Point]], front: Sequence[int]) -> str:
    """Return a chart of named points; those of the front are joined."""
    width, height = WIDTH // 2 - 8, 360
    parts = list(_frame(x, y, height, width))
    joined = " ".join(
        f"{_x(x, points[i][1][0], width):.1f},{_y(y, points[i][1][1], height):.1f}" for i in front
    )
    parts.append(f'<polyline fill="none" stroke="#999" stroke-dasharray="5 3" points="{joined}"/>')
    used: list[tuple[float, float]] = []
    for index, (name, (px, py)) in enumerate(points):
        cx, cy = _x(x, px, width), _y(y, py, height)
        radius = 6 if index in front else 4
        parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}" fill="{colour(index)}"/>')
        parts.append(_label(name, cx, cy, width, used))
    return _svg(parts, width, height)


def _label(name: str, cx: float, cy: float, width: float, used: list[tuple[float, float]]) -> str:
    """Return the label beside its point, moved up until it covers no other."""
    left = cx > width * 0.65
    while any(abs(cy - other) < 13 and abs(cx - at) < 160 for at, other in used):
        cy -= 13
    used.append((cx, cy))
    anchor, shift = ("end", -9) if left else ("start", 9)
    return f'<text x="{cx + shift:.1f}" y="{cy + 4:.1f}" text-anchor="{anchor}">{html.escape(name)}</text>'


def _frame(x: Axis, y: Axis, height: int, width: int) -> Iterator[str]:
    bottom = height - BOTTOM
    for value, word in x.ticks():
        at = _x(x, value, width)
        yield f'<line class="g" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{bottom}"/>'
        yield f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{word}</text>'
    for value, word in y.ticks():
        at = _y(y, value, height)
        yield f'<line class="g" x1="{LEFT}" y1="{at:.1f}" x2="{width - RIGHT}" y2="{at:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{word}</text>'
    yield f'<text class="l" x="{(LEFT + width) / 2}" y="{height - 6}" text-anchor="middle">{x.label}</text>'
    yield (
        f'<text class="l" transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        f"{y.label}</text>"
    )


def _svg(parts: Sequence[str], width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">{"".join(parts)}</svg>'


def _x(axis: Axis, value: float, width: int = WIDTH) -> float:
    return axis.position(value, LEFT, width - RIGHT)


def _y(axis: Axis, value: float, height: int) -> float:
    return axis.position(value, height - BOTTOM, TOP)
