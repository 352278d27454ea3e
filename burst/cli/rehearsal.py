"""`minicluster burst rehearse`: runs a scenario, and prints what has come of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.cli import report
from burst.costs import budgets, rows
from burst.costs.report import reading
from burst.costs.report.records import ReportData
from burst.ledger import spending
from burst.planning import money
from burst.rehearsal import outcome, rehearsal, scenario_file
from minicluster.cli.reporting import print_notice
from minicluster.cli.tables import Format, echo, json_text, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.rehearsal.rehearsal import Rehearsal

BURSTS = ("at", "burst", "slot", "provider", "machine", "nodes", "jobs", "ended", "outcome", "cost", "reason")
WAITS = ("jobs", "number", "ran", "mean_wait", "longest_wait", "ran_without", "mean_wait_without")
BUDGETS = ("scope", "budget", "used")
CLOUDS = ("provider", "machines", "bill", "cost", "left")
LEFT_OUT = ("job", "user", "submitted", "ran", "reason")
MAX_ROWS = 20
"""Of jobs that were left out; JSON has all."""


def run(path: str, output: Format, page: str = "") -> bool:
    """Run the scenario of a file, and print what came of it; return whether clouds list nothing at the end.

    `page` is where a report is written besides. Raises SettingsInvalid, DatabaseError, PolicyDefect and
    ReportNotWritten.
    """

    async def work() -> tuple[dict[str, Any], ReportData]:
        async with rehearsal.opened(scenario_file.load(Path(path))) as opened:
            await opened.run()
            return await outcome.of(opened), await _report(opened)

    found, data = asyncio.run(work())
    if output == "json":
        echo(json_text(found, indent=2))
    else:
        _print(found)
    if page:
        report.write(data, page)
    return not any(each["left"] for each in found["clouds"])


async def _report(over: Rehearsal) -> ReportData:
    """Return what a page about a rehearsal is made from, as that of a service."""
    settings, begin, now = over.file.settings.settings, over.file.begin, over.clock.now
    known = [*budgets.of_service(settings, now), *budgets.of_documents([over.cluster], settings, now)]
    since = [each.since for each in known]
    spent = await over.ledger.read(lambda connection: spending.by_scope(connection, begin, since))
    found = await over.ledger.read(lambda connection: reading.read(connection, begin))
    return ReportData(begin, now, settings.currency, found, rows.cost_rows(spent, known, ""), ())


def _print(found: Mapping[str, Any]) -> None:
    currency = found["currency"]
    echo(f"bursts, from {found['begin']} on, in {currency}:")
    show([_burst(each) for each in found["bursts"]], BURSTS, "table", "none was made")
    echo("\nwaits of jobs, and without bursts:")
    show([_spans(each) for each in found["waits"] if each["number"]], WAITS, "table")
    echo(f"\nbudgets, and what was used and reserved of each at most in a period, in {currency}:")
    used = [{**each, "budget": each["amount"], "used": _short(each["used"])} for each in found["budgets"]]
    show(used, BUDGETS, "table", "none, or nothing was used")
    echo(f"\nclouds, each with its own bill and what the ledger has, in {currency}:")
    show([_cloud(each) for each in found["clouds"]], CLOUDS, "table")
    if left_out := found["left_out"]:
        echo("\nburstable jobs that did not burst:")
        rows = [{**each, "submitted": span(each["submitted"])} for each in left_out[:MAX_ROWS]]
        show(rows, LEFT_OUT, "table")
        if len(left_out) > MAX_ROWS:
            echo(f"and {len(left_out) - MAX_ROWS} more: --output json has all")
    for each in found["unmet_faults"]:
        print_notice(f"no call has met this fault: {each}")


def _burst(row: Mapping[str, Any]) -> dict[str, Any]:
    ended = span(row["ended"]) if row["ended"] is not None else row["state"]
    machine = f"{row['machine']} (spot)" if row["spot"] else row["machine"]
    shown = {"at": span(row["at"]), "ended": ended, "machine": machine, "jobs": len(row["jobs"])}
    return {**row, **shown, "cost": _short(row["cost"])}


def _spans(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: span(value) if "wait" in name and value is not None else value for name, value in row.items()
    }


def _cloud(row: Mapping[str, Any]) -> dict[str, Any]:
    left = "; ".join(row["left"]) or "nothing"
    return {**row, "bill": _short(row["bill"]), "cost": _short(row["cost"]), "left": left}


def _short(amount: str) -> str:
    return money.rounded(money.amount(amount))


def span(seconds: float) -> str:
    """Return a time from the begin on as h:mm:ss."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
