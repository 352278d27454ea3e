"""The part of the page about shared cores: how many units were shared, and what was learned of it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from queue_policies.simulator.report import series
from queue_policies.simulator.report.axis import Axis
from queue_policies.simulator.report.drawing import curves, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from queue_policies.simulator.experiment import SimulationRun
    from queue_policies.simulator.outcome import WeightSample
    from queue_policies.simulator.report.series import Point


def section(shown: Sequence[SimulationRun], time: Axis) -> str:
    """Return the section; empty where no job had a quota."""
    if not any(run.outcome.quotas for run in shown):
        return ""
    return "\n".join(_parts(shown, time))


def _parts(shown: Sequence[SimulationRun], time: Axis) -> Iterator[str]:
    unit = shown[0].outcome.unit
    lines = [(run.policy, series.shared(run.outcome, time.low, time.high)) for run in shown]
    yield "<h2>Shared cores</h2>"
    yield f"<p>The {html.escape(unit)} on which a host has a guest, of all.</p>"
    yield f'<div class="wide">{curves(time, Axis(0, 1, f"{unit} shared", percent=True), lines)}</div>'
    for run in shown:
        samples = run.outcome.weights
        if samples:
            names = [name for name, _ in samples[0].weights]
            yield f"<p>How {html.escape(run.policy)} weighs its experts.</p>"
            yield f'<div class="legend">{"".join(key(index, name) for index, name in enumerate(names))}</div>'
            weights = [(name, _steps(samples, name, time.high)) for name in names]
            yield f'<div class="wide">{curves(time, Axis(0, 1, "weight", percent=True), weights)}</div>'


def _steps(samples: Sequence[WeightSample], name: str, end: float) -> list[Point]:
    """Return the corners of an expert's weight over time."""
    points: list[Point] = []
    for sample in samples:
        if points:
            points.append((sample.time, points[-1][1]))
        points.append((sample.time, dict(sample.weights)[name]))
    return [*points, (end, points[-1][1])]
