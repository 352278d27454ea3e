"""Values between measured points."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def between(points: Sequence[tuple[int, float]], at: int) -> float:
    """Return the value at a number, on the line between its neighbours; outside, that of the outer point.

    The points have a number and a value each, ascending. There is at least one.
    """
    for (low, one), (high, other) in pairwise(points):
        if low <= at <= high:
            return one + (other - one) * (at - low) / (high - low)
    return points[0][1] if at < points[0][0] else points[-1][1]
