"""Charts as SVG: curves over time and scattered points."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.simulator.report.axis import Axis
    from queue_policies.simulator.report.series import Point

COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf",
    "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#003f5c", "#58508d",
)  # fmt: skip
DASHES = {"solid": "none", "dashed": "7 3", "dotted": "2 3", "double": "10 3 2 3"}
"""How lines of one colour differ: the style of the legend's border, and the dashes of the curve."""
WIDTH, HEIGHT = 1080, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 12, 40
CHARACTER, LINE = 6.4, 13.0  # the width and height of a character of a label


def colour(index: int) -> str:
    """Return the colour of a policy by its index."""
    return COLOURS[index % len(COLOURS)]


def style(index: int) -> str:
    """Return the style of a policy's line by its index: another one each time that the colours repeat."""
    return tuple(DASHES)[index // len(COLOURS) % len(DASHES)]


def key(index: int, name: str) -> str:
    """Return a policy's entry of the legend."""
    line = f"border-top:3px {style(index)} {colour(index)}"
    return f'<span class="k"><i style="{line}"></i>{html.escape(name)}</span>'


def curves(x: Axis, y: Axis, lines: Sequence[tuple[str, Sequence[Point]]]) -> str:
    """Return a chart of named curves."""
    parts = list(_frame(x, y, HEIGHT, WIDTH))
    for index, (name, points) in enumerate(lines):
        path = " ".join(f"{_x(x, px):.1f},{_y(y, py, HEIGHT):.1f}" for px, py in points)
        parts.append(
            f'<polyline fill="none" stroke="{colour(index)}" stroke-width="1.4"'
            f' stroke-dasharray="{DASHES[style(index)]}" points="{path}">'
            f"<title>{html.escape(name)}</title></polyline>"
        )
    return _svg(parts, WIDTH, HEIGHT)


def scatter(x: Axis, y: Axis, points: Sequence[tuple[str, Point]], front: Sequence[int]) -> str:
    """Return a chart of named points; those of the front are joined."""
    width, height = WIDTH // 2 - 8, 360
    parts = list(_frame(x, y, height, width))
    dots = [(_x(x, px, width), _y(y, py, height)) for _, (px, py) in points]
    joined = " ".join(f"{dots[i][0]:.1f},{dots[i][1]:.1f}" for i in front)
    parts.append(f'<polyline fill="none" stroke="#999" stroke-dasharray="5 3" points="{joined}"/>')
    taken = [Box(cx - 7, cy - 7, cx + 7, cy + 7) for cx, cy in dots]
    for index, ((name, _), (cx, cy)) in enumerate(zip(points, dots, strict=True)):
        parts.append(_dot(index, cx, cy, 6 if index in front else 4))
        box = _free(name, cx, cy, Box(LEFT, TOP, width, height - BOTTOM), taken)
        taken.append(box)
        parts.append(f'<text x="{box.left:.1f}" y="{box.bottom - 3:.1f}">{html.escape(name)}</text>')
    return _svg(parts, width, height)


def _dot(index: int, cx: float, cy: float, radius: int) -> str:
    """Return a policy's point: a disc, or a ring with the dashes of its line where colours repeat."""
    at = f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}"'
    if index < len(COLOURS):
        return f'{at} fill="{colour(index)}"/>'
    dashes = f'stroke-width="2" stroke-dasharray="{DASHES[style(index)]}"'
    return f'{at} fill="none" stroke="{colour(index)}" {dashes}/>'


class Box(NamedTuple):
    """A rectangle of a chart, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Return whether both have a point in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def _free(name: str, cx: float, cy: float, frame: Box, taken: Sequence[Box]) -> Box:
    """Return where a point's label covers no other label and no point: beside it, else above or below."""
    long = CHARACTER * len(name)
    lefts = (cx + 9, cx - 9 - long, min(max(cx - long / 2, frame.left), frame.right - long))
    tops = (cy - 7, *(cy - 7 + sign * LINE * number for number in range(1, 9) for sign in (-1, 1)))
    boxes = [Box(left, top, left + long, top + LINE) for top in tops for left in lefts]
    inside = [
        each
        for each in boxes
        if each.left >= frame.left
        and each.right <= frame.right
        and each.top >= frame.top
        and each.bottom <= frame.bottom
    ]
    return next((box for box in inside if not any(map(box.overlaps, taken))), boxes[0])


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
    yield f'<text class="l" x="{(LEFT + width) / 2}" y="{height - 6}" text-anchor="middle">{x.title}</text>'
    yield (
        f'<text class="l" transform="translate(14 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        f"{y.title}</text>"
    )


def _svg(parts: Sequence[str], width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}">{"".join(parts)}</svg>'


def _x(axis: Axis, value: float, width: int = WIDTH) -> float:
    return axis.position(value, LEFT, width - RIGHT)


def _y(axis: Axis, value: float, height: int) -> float:
    return axis.position(value, height - BOTTOM, TOP)
