"""How far a metric is spread over seeds: its standard deviation, and a 95 % confidence interval of its mean.

The interval is Student's. Source of the quantiles beyond four degrees of freedom: Abramowitz and Stegun,
Handbook of Mathematical Functions, 26.7.5; it is right to 0.001 there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEW = (12.7062, 4.3027, 3.1824, 2.7764)
"""The quantiles for one to four degrees of freedom."""
_NORMAL = 1.959964
"""The quantile 0.975 of the normal distribution."""


class Spread(NamedTuple):
    """The mean of a sample, and how far it is spread."""

    mean: float
    deviation: float
    """The standard deviation of the sample; 0 for a single value."""
    margin: float
    """The 95 % confidence interval of the mean is from mean - margin to mean + margin."""


def interval(metric: str, each: Spread) -> tuple[float, float]:
    """Return the ends of a metric's interval, as far as the metric can be there.

    No metric is below 0, no slowdown below 1. A utilization ends at 1, or at its mean above that.
    """
    least = 1.0 if metric.startswith("slowdown") else 0.0
    most = max(1.0, each.mean) if metric == "utilization" else math.inf
    low, high = each.mean - each.margin, each.mean + each.margin
    return max(low, least), min(high, most)  # nan stays, as it comes first


def spread(sample: Sequence[float]) -> Spread:
    """Return the spread of a sample."""
    count = len(sample)
    mean = math.fsum(sample) / count
    if count == 1:
        return Spread(mean, 0.0, 0.0)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in sample) / (count - 1))
    return Spread(mean, deviation, quantile(count - 1) * deviation / math.sqrt(count))


def quantile(freedom: int) -> float:
    """Return the quantile 0.975 of Student's distribution with so many degrees of freedom."""
    if freedom <= len(_FEW):
        return _FEW[freedom - 1]
    z = _NORMAL
    return math.fsum(
        (
            z,
            (z**3 + z) / (4 * freedom),
            (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2),
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3),
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * freedom**4),
        )
    )
