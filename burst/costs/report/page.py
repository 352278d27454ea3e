"""The page: what scopes have cost, bursts by slot, nodes and money over time, and all bursts."""

from __future__ import annotations

import html
import re
from importlib import resources
from typing import TYPE_CHECKING

from burst.costs.report import dates, gantt, series, tables
from burst.costs.report.dates import DateAxis
from burst.planning import money
from burst.planning.plan import ALL
from queue_policies.simulator.report.axis import Axis
from queue_policies.simulator.report.drawing import curves, key

if TYPE_CHECKING:
    from burst.costs.report.records import ReportData
    from burst.costs.report.series import Point

COST, USED, BUDGET = "has cost", "charged or reserved", "budget"
_PLACEHOLDER = re.compile("@[A-Z]+@")
NOTHING = "<p>There were none.</p>"


def page(data: ReportData) -> str:
    """Return the page about bursts."""
    template = resources.files("burst.costs.report").joinpath("page.html").read_text("utf-8")
    found = series.nodes(data)
    amounts = _amounts(data)
    parts = {
        "@TITLE@": f"Bursts{_since(data)} until {dates.shown(data.now)} UTC",
        "@INTRODUCTION@": html.escape(_introduction(data)),
        "@ALARMS@": _alarms(data),
        "@SCOPES@": tables.scopes(data),
        "@STATES@": gantt.legend(),
        "@GANTT@": gantt.gantt(data) if data.bursts else NOTHING,
        "@PROVIDERS@": "".join(key(index, name) for index, name in enumerate(found)),
        "@NODES@": _nodes(data, found) if found else NOTHING,
        "@MONEY@": html.escape(_words(data)),
        "@AMOUNTS@": "".join(key(index, name) for index, (name, _) in enumerate(amounts)),
        "@CURVES@": _money(data, amounts) if data.bursts else NOTHING,
        "@BURSTS@": tables.bursts(data),
    }
    # In one pass: what users and clouds have named must not be taken for a placeholder.
    return _PLACEHOLDER.sub(lambda match: parts[match[0]], template)


def _since(data: ReportData) -> str:
    return f" since {dates.shown(data.since)}" if data.since else ""


def _introduction(data: ReportData) -> str:
    count, left = len(data.bursts), sum(map(series.is_open, data.bursts))
    if not count:
        return "No burst was asked for."
    cost = sum(each.total(data.now) for each in data.bursts)
    counted = "1 burst was" if count == 1 else f"{count:,} bursts were"
    text = f"{counted} asked for; something is left of {left or 'none'}."
    amount = f"{money.rounded(cost)} {data.currency}"
    return f"{text} {'It has' if count == 1 else 'Together they have'} cost {amount}. Times are in UTC."


def _alarms(data: ReportData) -> str:
    lines = "".join(f"<li>{html.escape(each)}</li>" for each in data.alarms)
    return f'<ul class="w">{lines}</ul>' if lines else ""


def _nodes(data: ReportData, found: dict[str, list[Point]]) -> str:
    most = max(value for points in found.values() for _, value in points)
    y = Axis(0, max(most, 1.0), "nodes", whole=True)
    return curves(_time(data), y, list(found.items()))


def _budget(data: ReportData) -> int | None:
    """Return the budget of all bursts, if this report is of bursts of its present period alone."""
    use = next((each.use for each in data.rows if each.scope == ALL), None)
    if use is None or use.budget.since > data.begin:
        return None
    return use.budget.amount


def _words(data: ReportData) -> str:
    text = f"What bursts have cost, and what was charged or reserved at worst, in {data.currency}."
    if _budget(data) is None:
        return f"{text} There is no budget of all bursts for exactly this time."
    return text


def _amounts(data: ReportData) -> list[tuple[str, list[Point]]]:
    found = [(COST, series.cost(data)), (USED, series.used(data))]
    amount = _budget(data)
    if amount is not None:
        found.append((BUDGET, [(data.begin, float(amount)), (data.now, float(amount))]))
    return [(name, [(at, value / money.MICRO) for at, value in points]) for name, points in found]


def _money(data: ReportData, amounts: list[tuple[str, list[Point]]]) -> str:
    most = max(value for _, points in amounts for _, value in points)
    return curves(_time(data), Axis(0, most * 1.04 or 1.0, data.currency), amounts)


def _time(data: ReportData) -> DateAxis:
    return DateAxis(data.begin, max(data.now, data.begin + 1), "time, UTC")
