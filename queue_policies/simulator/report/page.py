"""The page: a table of metrics, curves, Pareto fronts, and a Gantt chart for each policy."""

from __future__ import annotations

import html
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import OutputError
from queue_policies.simulator.experiment import means
from queue_policies.simulator.report import series, sharing, tables
from queue_policies.simulator.report.axis import Axis, Unit, time_unit
from queue_policies.simulator.report.drawing import curves, key, scatter
from queue_policies.simulator.report.gantt import lanes, rectangles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.simulator.experiment import SimulationRun

BINS = 500
MAX_STEPS = 2000  # of a curve over time; of more, means over bins are drawn
DRAWN_JOBS = 20_000
GRAINS = 1_000_000  # so finely the time is divided in the page's data
WIDE = 8.0  # a range of values so many times as large as the least gets a logarithmic axis
FRONTS = (
    ("turnaround", "makespan"),
    ("weighted_wait", "makespan"),
    ("wait", "idle"),
    ("wait_max", "turnaround"),
)
"""Pairs of metrics of which less is better; all are times."""


def write_report(path: str, runs: Sequence[SimulationRun]) -> None:
    """Write the page about some runs to a file. Raises OutputError."""
    try:
        Path(path).write_text(page(runs), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from error


def page(runs: Sequence[SimulationRun]) -> str:
    """Return the page. Curves and units are those of the first seed, numbers the means over all seeds."""
    first = {run.policy: run for run in reversed(runs)}
    shown = [first[policy] for policy in means(runs)]
    template = resources.files("queue_policies.simulator.report").joinpath("page.html").read_text("utf-8")
    parts = {
        "@TITLE@": html.escape(_title(runs)),
        "@INTRODUCTION@": html.escape(_introduction(runs, shown)),
        "@LEGEND@": "".join(key(index, run.policy) for index, run in enumerate(shown)),
        "@TABLE@": tables.metrics(runs),
        "@BEST@": tables.best_words(runs),
        "@STEPS@": _steps_words(shown),
        "@UTILIZATION@": _utilization(shown),
        "@WAITING@": _waiting(shown),
        "@PERCENTILES@": tables.percentiles(runs),
        "@WAITS@": _waits(runs),
        "@FRONTS@": _fronts(runs),
        "@SHARING@": sharing.section(shown, _time(*_span(shown))),
        "@DATA@": json.dumps([_drawn(run) for run in shown], separators=(",", ":")).replace("<", "\\u003c"),
    }
    for placeholder, text in parts.items():
        template = template.replace(placeholder, text)
    return template


def _title(runs: Sequence[SimulationRun]) -> str:
    """Return the workload and its policies; of several seeds the first and the last workload."""
    workloads = list(dict.fromkeys(run.outcome.workload for run in runs))
    named = workloads[0] if len(workloads) == 1 else f"{workloads[0]} to {workloads[-1]}"
    return f"{named}: {', '.join(dict.fromkeys(run.policy for run in runs))}"


def _introduction(runs: Sequence[SimulationRun], shown: Sequence[SimulationRun]) -> str:
    outcome = shown[0].outcome
    seeds = sorted({run.seed for run in runs})
    text = f"{len(outcome.jobs):,} jobs on {outcome.total:,} {outcome.unit}."
    if len(seeds) > 1:
        text += (
            f" Numbers are means over {len(seeds)} seeds, with half of their 95 % interval (±) and the"
            f" standard deviation of a seed (sd). Curves over time, and who held what, are those of seed"
            f" {seeds[0]}."
        )
    return text


def _span(shown: Sequence[SimulationRun]) -> tuple[float, float]:
    return min(run.outcome.begin for run in shown), max(run.outcome.last_end for run in shown)


def _time(begin: float, end: float) -> Axis:
    return Axis(begin, end, "time", time_unit(end - begin))


def _is_exact(shown: Sequence[SimulationRun]) -> bool:
    """Return whether each change is drawn; jobs are submitted, start, are resized, and end."""
    return all(sum(1 + len(job.sizes) for job in run.outcome.jobs) <= MAX_STEPS for run in shown)


def _steps_words(shown: Sequence[SimulationRun]) -> str:
    begin, end = _span(shown)
    if _is_exact(shown):
        return "Each change is a step."
    return (
        f"There are more changes than can be drawn: each point is the mean of {(end - begin) / BINS:,.0f} s."
    )


def _utilization(shown: Sequence[SimulationRun]) -> str:
    begin, end = _span(shown)
    if _is_exact(shown):
        lines = [(run.policy, series.utilization(run.outcome, begin, end)) for run in shown]
    else:
        lines = [(run.policy, series.mean_utilization(run.outcome, begin, end, BINS)) for run in shown]
    return curves(_time(begin, end), Axis(0, 1, f"{shown[0].outcome.unit} in use", percent=True), lines)


def _waiting(shown: Sequence[SimulationRun]) -> str:
    begin, end = _span(shown)
    if _is_exact(shown):
        lines = [(run.policy, series.waiting(run.outcome, begin, end)) for run in shown]
    else:
        lines = [(run.policy, series.mean_waiting(run.outcome, begin, end, BINS)) for run in shown]
    most = max(value for _, points in lines for _, value in points)
    return curves(_time(begin, end), Axis(0, max(most, 1.0), "jobs that wait", whole=True), lines)


def _waits(runs: Sequence[SimulationRun]) -> str:
    """Return the distribution of waits. Many are short: the axis is logarithmic, from a tenth of its unit."""
    waits = series.waits(runs)
    longest = max(ordered[-1] for ordered in waits.values())
    unit = time_unit(longest / 100)
    least = max(1.0, unit.size / 10)
    last = max(longest, 10 * least)
    lines = [(policy, series.distribution(ordered, least, last, BINS)) for policy, ordered in waits.items()]
    x = Axis(least, last, "wait (logarithmic)", unit, log=True)
    return curves(x, Axis(0, 1, "share of the jobs", percent=True), lines)


def _fronts(runs: Sequence[SimulationRun]) -> str:
    rows = means(runs)
    charts = []
    for x, y in FRONTS:
        points = [(policy, (row[x], row[y])) for policy, row in rows.items()]
        (xs, ys) = ([point[side] for _, point in points] for side in (0, 1))
        if len(set(xs)) > 1 and len(set(ys)) > 1:
            unit = time_unit(max(xs), max(ys))
            axes = (_axis(xs, x, unit), _axis(ys, y, unit))
            charts.append(scatter(*axes, points, series.pareto([point for _, point in points])))
    return "".join(charts) or "<p>There is nothing to choose: all policies are the same in these.</p>"


def _axis(values: Sequence[float], name: str, unit: Unit) -> Axis:
    low, high, label = min(values), max(values), name.replace("_", " ")
    if low > 0 and high / low > WIDE:
        return Axis(low / 1.5, high * 1.5, f"{label} (logarithmic)", unit, log=True)
    margin = (high - low) * 0.12
    return Axis(max(0.0, low - margin), high + margin, label, unit)


def _drawn(run: SimulationRun) -> dict[str, object]:
    """Return the data of the page's script: rectangles as one flat list, and the jobs' names."""
    outcome = run.outcome
    begin, end = outcome.begin, outcome.last_end
    scale = GRAINS / ((end - begin) or 1.0)
    flat: list[int] = []
    for start, stop, unit, number, job in rectangles(outcome, DRAWN_JOBS):
        flat += (round((start - begin) * scale), round((stop - begin) * scale), unit, number, job)
    jobs = outcome.jobs[:DRAWN_JOBS]
    kinds = sorted({job.kind for job in jobs})
    return {
        "policy": run.policy,
        "total": outcome.total,
        "unit": outcome.unit,
        "begin": begin,
        "end": end,
        "lanes": [[lane.host, lane.number, lane.first, len(lane.cores)] for lane in lanes(outcome)],
        "left_out": len(outcome.jobs) - len(jobs),
        "kinds": kinds,
        "jobs": [
            [job.id, kinds.index(job.kind), job.priority, round(job.submitted, 1), round(job.started, 1),
             round(job.ended, 1), job.grows, job.shrinks]
            for job in jobs
        ],
        "rectangles": flat,
    }  # fmt: skip
