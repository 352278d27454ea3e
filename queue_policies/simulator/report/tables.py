"""The tables of the page: the metrics of each policy, and how long its jobs wait."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from queue_policies.simulator.experiment import spreads
from queue_policies.simulator.metrics import percentile
from queue_policies.simulator.report.series import waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from queue_policies.simulator.experiment import SimulationRun
    from queue_policies.simulator.spread import Spread

COLUMNS: Mapping[str, tuple[str, int]] = {  # words; 1: more is better, -1: less is, 0: neither
    "makespan": ("makespan s", -1),
    "utilization": ("utilization", 1),
    "wait": ("wait s", -1),
    "turnaround": ("turnaround s", -1),
    "slowdown": ("slowdown", -1),
    "weighted_wait": ("weighted wait s", -1),
    "weighted_turnaround": ("weighted turnaround s", -1),
    "grows": ("grows", 0),
    "shrinks": ("shrinks", 0),
    "preemptions": ("preemptions", 0),
    "idle": ("idle s", 0),
}
"""The metrics, in the words of `minicluster simulate`."""
PERCENTILES = {"median": 0.5, "75 %": 0.75, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "longest": 1.0}


def metrics(runs: Sequence[SimulationRun]) -> str:
    """Return the means of each policy; of several seeds also deviations and intervals."""
    rows = spreads(runs)
    several = _are_several(runs)
    bold = {
        name: value
        for name, (_, better) in COLUMNS.items()
        if better and (value := best([row[name] for row in rows.values()], better)) is not None
    }
    lines = [_row("policy", (f"<th>{words}</th>" for words, _ in COLUMNS.values()))]
    for policy, row in rows.items():
        cells = (_cell(name, row[name], several, bold.get(name) == row[name].mean) for name in COLUMNS)
        lines.append(_row(html.escape(policy), cells))
    return _table(lines)


def best_words(runs: Sequence[SimulationRun]) -> str:
    """Return what bold means."""
    if len(spreads(runs)) < 2:
        return ""
    if _are_several(runs):
        return "Bold is the best, where its interval overlaps that of no other policy."
    return "Bold is the best."


def _are_several(runs: Sequence[SimulationRun]) -> bool:
    return len({run.seed for run in runs}) > 1


def best(column: Sequence[Spread], better: int) -> float | None:
    """Return the best mean; None if no policy is better than another, or one may be by chance."""
    first = (max if better > 0 else min)(column, key=lambda each: each.mean)
    others = [each for each in column if each.mean != first.mean]
    apart = (abs(each.mean - first.mean) > each.margin + first.margin for each in others)
    return first.mean if others and all(apart) else None


def _cell(name: str, each: Spread, several: bool, best: bool) -> str:
    margin, deviation = _number(name, each.margin), _number(name, each.deviation)
    spread = f"<small>± {margin}<br>sd {deviation}</small>" if several else ""
    return f"<td{' class=b' if best else ''}>{_number(name, each.mean)}{spread}</td>"


def percentiles(runs: Sequence[SimulationRun]) -> str:
    """Return the waits of each policy's jobs, of all seeds together, by percentile."""
    lines = [_row("policy", (f"<th>{words}</th>" for words in PERCENTILES))]
    for policy, ordered in waits(runs).items():
        values = (percentile(ordered, part) for part in PERCENTILES.values())
        lines.append(_row(html.escape(policy), (f"<td>{_number('wait', value)}</td>" for value in values)))
    return _table(lines)


def _row(title: str, cells: Iterable[str]) -> str:
    return f"<tr><th>{title}</th>{''.join(cells)}</tr>"


def _table(lines: Iterable[str]) -> str:
    return f"<table>{''.join(lines)}</table>"


def _number(name: str, value: float) -> str:
    if name == "utilization":
        return f"{value:.1%}"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
