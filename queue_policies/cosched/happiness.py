"""Whether a job will end in its time limit, going by what it has done so far."""

from __future__ import annotations

import math


def happiness(ahead: float, elapsed: float, left: float | None) -> float | None:
    """Return how far a job is from its time limit. At least 1: it will end in time.

    That is the time that is left, times its speed, over the work that is left: `ahead` seconds until its
    limit, what it did of its work in `elapsed` seconds, and the fraction `left` of it. None: its progress
    is not known, or it has done nothing yet.
    """
    if ahead == math.inf:
        return math.inf
    if left is None or not left < 1.0 or not elapsed > 0:
        return None
    return math.inf if left <= 0 else max(0.0, ahead) * (1 - left) / elapsed / left


def slowdown(seconds: float, alone: float) -> float:
    """Return a loss from 0 to 1: the slowdown over 50 %, as the loss of the paper counts a limit passed."""
    return min(1.0, max(0.0, (seconds / alone - 1) / 0.5)) if alone > 0 else 1.0


def overrun(seconds: float, limit: float) -> float:
    """Return the paper's own loss of a host that ran so long under its time limit."""
    return min(1.0, max(0.0, (seconds - limit) / (limit / 2))) if limit < math.inf else 0.0
