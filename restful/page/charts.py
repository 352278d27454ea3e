"""Columns of a picture, in the units of SVG: percent of its width, and pixels of its height. No I/O.

A picture has no width of its own, so that its text is as large on a phone as on a screen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

HEIGHT = 130
"""Pixels of the highest column."""
TOP = 22
"""Pixels above it, for its value."""
BASE = TOP + HEIGHT
"""Where columns stand."""
MAX_LABELS = 6
"""Labels below the columns: more would not fit side by side on a phone."""
MAX_VALUES = 8
"""Columns up to which each has its value above it; of more the highest one alone."""
FILLED = 0.8
"""The part of its room that a column takes."""


class Column(NamedTuple):
    """One column."""

    label: str
    value: float
    x: str
    """Of its left side, in percent."""
    width: str
    y: str
    height: str
    middle: str
    anchor: str
    """Of a text at its middle, so that it does not leave the picture."""
    has_label: bool
    has_value: bool


def columns(values: Sequence[tuple[str, float]]) -> list[Column]:
    """Return the columns for labels and values that are 0 or more."""
    highest = max((value for _, value in values), default=0.0)
    first = next((number for number, (_, value) in enumerate(values) if value == highest > 0), None)
    step = -(-len(values) // MAX_LABELS) or 1
    room = 100 / max(len(values), 1)
    found = []
    for number, (label, value) in enumerate(values):
        height = HEIGHT * value / highest if highest else 0.0
        middle = (number + 0.5) * room
        found.append(
            Column(
                label,
                value,
                x=_percent((number + (1 - FILLED) / 2) * room),
                width=_percent(FILLED * room),
                y=f"{BASE - height:.1f}",
                height=f"{height:.1f}",
                middle=_percent(middle),
                anchor="start" if middle < 4 else "end" if middle > 96 else "middle",
                has_label=number % step == step // 2,
                has_value=value > 0 and (number == first or len(values) <= MAX_VALUES),
            )
        )
    return found


def fraction(value: float, whole: float) -> str:
    """Return how much of a whole a value is, in percent; 100 at most."""
    return _percent(100 * min(value / whole, 1.0) if whole > 0 else 0.0)


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def hours(value: float) -> str:
    """Return hours for people: three digits that count, with commas from a thousand on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
