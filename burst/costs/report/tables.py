"""The tables of the page, and the same facts for programs."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from burst.costs.alarms import NEARLY
from burst.costs.report import dates
from burst.costs.report.series import is_open
from burst.costs.rows import COST_COLUMNS
from burst.planning import money
from burst.planning.plan import ALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from burst.costs.report.records import ReportData, ReportedBurst

TEXT = {"scope", "period", "currency", "burst", "slot", "provider", "machine", "state", "created", "ended"}
"""Columns that are no numbers."""
BURST_COLUMNS = (
    *("burst", "slot", "provider", "machine", "nodes", "state", "created", "ended", "cost", "worst"),
    "reason",
)


def facts(data: ReportData) -> dict[str, Any]:
    """Return what the page has for programs: times in seconds since 1970, money as decimal text."""
    return {
        "since": data.since,
        "now": data.now,
        "currency": data.currency,
        "alarms": list(data.alarms),
        "scopes": [each.encode(data.currency) for each in data.rows],
        "bursts": [_fact(each, data.now) for each in data.bursts],
    }


def _fact(reported: ReportedBurst, now: float, amount: Callable[[int], str] = money.encode) -> dict[str, Any]:
    burst = reported.burst
    return {
        **burst.row,
        "ended": None if is_open(reported) else burst.state_since,
        "states": [{**each._asdict(), "state": each.state.value} for each in reported.spans(now)],
        "nodes_there": [{"at": each.at, "nodes": each.nodes} for each in reported.counts],
        "cost": amount(reported.total(now)),
        "worst": amount(burst.amounts.get(ALL, 0)),
    }


def scopes(data: ReportData) -> str:
    """Return what scopes have cost."""
    return _table(COST_COLUMNS, [each.encode(data.currency, money.rounded) for each in data.rows])


def bursts(data: ReportData) -> str:
    """Return all bursts, the newest first."""
    rows = []
    for each in reversed(data.bursts):
        row = _fact(each, data.now, money.rounded)
        for name in ("created", "ended"):
            row[name] = None if row[name] is None else dates.shown(row[name])
        row["slot"] = f"{row['cluster']} {row['slot']}"
        row["machine"] += " (spot)" if row["spot"] else ""
        row["state"] = row["state"] if row["ended"] is None else row["outcome"]
        rows.append(row)
    return _table(BURST_COLUMNS, rows) if rows else "<p>There is none.</p>"


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    titles = "".join(f"<th{' class=t' if _is_text(name) else ''}>{name.upper()}</th>" for name in columns)
    lines = ["".join(_cell(name, row[name]) for name in columns) for row in rows]
    return f"<table><tr>{titles}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _cell(name: str, value: object) -> str:
    kind = "r" if name == "reason" else "t" if _is_text(name) else ""
    if name == "used" and value is not None and int(str(value).rstrip("%")) >= 100 * NEARLY:
        kind = "m"
    text = "" if value is None else html.escape(str(value))
    return f"<td class={kind}>{text}</td>" if kind else f"<td>{text}</td>"


def _is_text(name: str) -> bool:
    return name in TEXT or name == "reason"
