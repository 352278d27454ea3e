"""What is read off an outcome."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.fcfs import Fcfs
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import NAMES, mean, measure, percentile


@pytest.fixture
def outcome(kit: Any) -> Any:
    """Job 1: 8 units, 0 to 10; job 2: 4 units, submitted at 2, 10 to 15, of three times the priority."""
    jobs = kit.rigid(1, 8, 10, priority=10), kit.rigid(2, 4, 5, 2, priority=30)
    return simulate(kit.workload(*jobs), Fcfs())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("makespan", 15),
        ("utilization", 100 / (8 * 15)),
        ("wait", 4),
        ("wait_median", 4),
        ("wait_p95", 7.6),
        ("wait_max", 8),
        ("turnaround", 11.5),
        ("slowdown", (1 + 1.3) / 2),
        ("weighted_wait", 6),
        ("weighted_turnaround", (100 + 390) / 40),
        ("run_time", 7.5),
        ("jobs", 2),
        ("timeouts", 0),
        ("idle", 0),
    ],
)
def test_metrics(outcome: Any, name: str, value: float) -> None:
    assert getattr(measure(outcome), name) == pytest.approx(value)


def test_without_priorities_and_time_nothing_is_divided_by_nought(kit: Any) -> None:
    metrics = measure(simulate(kit.workload(kit.rigid(1, 8, 0, priority=0)), Fcfs()))
    assert (metrics.makespan, metrics.utilization, metrics.slowdown) == (0, 0, 1)
    assert metrics.weighted_wait != metrics.weighted_wait, "there is no weighted mean without weights"


def test_means_are_over_runs(outcome: Any) -> None:
    means = mean([measure(outcome)] * 3)
    assert tuple(means) == NAMES
    assert means["wait"] == pytest.approx(4)


@pytest.mark.parametrize(("fraction", "value"), [(0.0, 1.0), (0.5, 2.5), (1.0, 4.0), (0.25, 1.75)])
def test_percentiles(fraction: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], fraction) == value
