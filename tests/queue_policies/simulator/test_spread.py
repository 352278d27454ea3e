"""The spread of a metric over seeds."""

from __future__ import annotations

import math
import statistics

import pytest

from queue_policies.simulator.spread import Spread, interval, quantile, spread


def test_a_single_value_has_no_spread() -> None:
    assert spread([7.0]) == Spread(7.0, 0.0, 0.0)


def test_the_deviation_is_that_of_a_sample() -> None:
    sample = [3.0, 5.0, 10.0, 4.0, 4.5]
    found = spread(sample)
    assert (found.mean, found.deviation) == pytest.approx((5.3, statistics.stdev(sample)))
    assert found.margin == pytest.approx(2.7764 * statistics.stdev(sample) / math.sqrt(5))


def _probability(t: float, freedom: int) -> float:
    """The probability of a value below `t`, by integration of Student's density (Simpson's rule)."""
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(
        freedom * math.pi
    )
    parts, total = 2000, 0.0
    for index in range(parts + 1):
        weight = 1 if index in (0, parts) else 4 if index % 2 else 2
        total += weight * (1 + (t * index / parts) ** 2 / freedom) ** (-(freedom + 1) / 2)
    return 0.5 + constant * total * t / parts / 3


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 6, 9, 19, 30, 99, 1000])
def test_the_interval_holds_95_percent(freedom: int) -> None:
    assert _probability(quantile(freedom), freedom) == pytest.approx(0.975, abs=2e-5)


@pytest.mark.parametrize(
    ("metric", "mean", "margin", "ends"),
    [
        ("wait", 10.0, 20.0, (0.0, 30.0)),
        ("makespan", 100.0, 20.0, (80.0, 120.0)),
        ("slowdown_p95", 1.5, 3.0, (1.0, 4.5)),
        ("utilization", 0.9, 2.0, (0.0, 1.0)),
        ("utilization", 1.2, 2.0, (0.0, 1.2)),
    ],
)
def test_an_interval_ends_where_the_metric_does(
    metric: str, mean: float, margin: float, ends: tuple[float, float]
) -> None:
    assert interval(metric, Spread(mean, 1.0, margin)) == pytest.approx(ends)


def test_an_interval_of_what_is_no_number_is_none() -> None:
    assert all(map(math.isnan, interval("weighted_wait", Spread(math.nan, math.nan, math.nan))))
