"""The page: a table of metrics, curves, Pareto fronts, and a Gantt chart for each policy."""

from __future__ import annotations

import html
import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import OutputError
from queue_policies.simulator.experiment import means
from queue_policies.simulator.report import series
from queue_policies.simulator.report.drawing import Axis, colour, curves, scatter
from queue_policies.simulator.report.gantt import rectangles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.simulator.experiment import SimulationRun

BINS = 500
DRAWN_JOBS = 20_000
GRAINS = 1_000_000  # so finely the time is divided in the page's data
COLUMNS: Mapping[str, tuple[str, int]] = {  # words; 1: more is better, -1: less is, 0: neither
    "makespan": ("makespan s", -1),
    "utilization": ("utilization", 1),
    "wait": ("wait s", -1),
    "wait_p95": ("wait 95 % s", -1),
    "wait_max": ("longest wait s", -1),
    "turnaround": ("turnaround s", -1),
    "slowdown": ("bounded slow-down", -1),
    "weighted_wait": ("wait by priority s", -1),
    "weighted_turnaround": ("turnaround by priority s", -1),
    "grows": ("grown", 0),
    "shrinks": ("shrunk", 0),
    "idle": ("without progress s", 0),
}
WIDE = 8.0  # a range of values so many times as large as the least gets a logarithmic axis
FRONTS = (
    ("turnaround", "makespan"),
    ("weighted_wait", "makespan"),
    ("wait", "idle"),
    ("wait_max", "turnaround"),
)


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
        "@TITLE@": html.escape(f"{shown[0].outcome.workload}: {', '.join(run.policy for run in shown)}"),
        "@INTRODUCTION@": html.escape(_introduction(runs, shown)),
        "@LEGEND@": "".join(
            f'<span class="k"><i style="background:{colour(index)}"></i>{html.escape(run.policy)}</span>'
            for index, run in enumerate(shown)
        ),
        "@TABLE@": _table(runs),
        "@UTILIZATION@": _utilization(shown),
        "@WAITING@": _waiting(shown),
        "@FRONTS@": _fronts(runs),
        "@DATA@": json.dumps([_drawn(run) for run in shown], separators=(",", ":")).replace("<", "\\u003c"),
    }
    for placeholder, text in parts.items():
        template = template.replace(placeholder, text)
    return template


def _introduction(runs: Sequence[SimulationRun], shown: Sequence[SimulationRun]) -> str:
    outcome = shown[0].outcome
    seeds = sorted({run.seed for run in runs})
    text = f"{len(outcome.jobs):,} jobs on {outcome.total:,} {outcome.unit}."
    if len(seeds) > 1:
        text += f" Numbers are means over {len(seeds)} seeds; curves and units are those of seed {seeds[0]}."
    return text


def _table(runs: Sequence[SimulationRun]) -> str:
    rows = means(runs)
    best = {
        name: (max if better > 0 else min)(row[name] for row in rows.values())
        for name, (_, better) in COLUMNS.items()
        if better
    }
    head = "".join(f"<th>{words}</th>" for words, _ in COLUMNS.values())
    lines = [f"<tr><th>policy</th>{head}</tr>"]
    for policy, row in rows.items():
        cells = ""
        for name in COLUMNS:
            bold = " class=b" if len(rows) > 1 and best.get(name) == row[name] else ""
            cells += f"<td{bold}>{_number(name, row[name])}</td>"
        lines.append(f"<tr><th>{html.escape(policy)}</th>{cells}</tr>")
    return "<table>" + "".join(lines) + "</table>"


def _number(name: str, value: float) -> str:
    if name == "utilization":
        return f"{value:.1%}"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


def _span(shown: Sequence[SimulationRun]) -> tuple[float, float]:
    return min(run.outcome.begin for run in shown), max(run.outcome.last_end for run in shown)


def _utilization(shown: Sequence[SimulationRun]) -> str:
    begin, end = _span(shown)
    lines = [(run.policy, series.utilization(run.outcome, begin, end, BINS)) for run in shown]
    return curves(Axis(begin, end, "time", times=True), Axis(0, 1, "units in use", percent=True), lines)


def _waiting(shown: Sequence[SimulationRun]) -> str:
    begin, end = _span(shown)
    lines = [(run.policy, series.waiting(run.outcome, begin, end, BINS)) for run in shown]
    most = max(value for _, points in lines for _, value in points)
    return curves(Axis(begin, end, "time", times=True), Axis(0, max(most, 1.0), "jobs that wait"), lines)


def _fronts(runs: Sequence[SimulationRun]) -> str:
    rows = means(runs).values()
    charts = []
    for x, y in FRONTS:
        points = [(policy, (row[x], row[y])) for policy, row in means(runs).items()]
        if len({row[x] for row in rows}) > 1 and len({row[y] for row in rows}) > 1:
            axes = (_axis([row[x] for row in rows], x), _axis([row[y] for row in rows], y))
            charts.append(scatter(*axes, points, series.pareto([point for _, point in points])))
    return "".join(charts) or "<p>There is nothing to choose: all policies are the same in these.</p>"


def _axis(values: Sequence[float], name: str) -> Axis:
    low, high = min(values), max(values)
    label, times = COLUMNS[name][0].removesuffix(" s"), COLUMNS[name][0].endswith(" s")
    if low > 0 and high / low > WIDE:
        return Axis(low / 1.5, high * 1.5, f"{label} (logarithmic)", times, log=True)
    margin = (high - low) * 0.12
    return Axis(max(0.0, low - margin), high + margin, label, times)


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
        "left_out": len(outcome.jobs) - len(jobs),
        "kinds": kinds,
        "jobs": [
            [job.id, kinds.index(job.kind), job.priority, round(job.submitted, 1), round(job.started, 1),
             round(job.ended, 1), job.grows, job.shrinks]
            for job in jobs
        ],
        "rectangles": flat,
    }  # fmt: skip
