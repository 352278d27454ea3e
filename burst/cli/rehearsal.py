"""`minicluster burst rehearse`: runs a scenario, and prints what has come of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.rehearsal import outcome, rehearsal, scenario_file
from minicluster.cli.reporting import print_notice
from minicluster.cli.tables import Format, echo, json_text, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.rehearsal.scenario_file import ScenarioFile

BURSTS = ("at", "burst", "slot", "provider", "machine", "nodes", "jobs", "ended", "outcome", "cost", "reason")
WAITS = ("jobs", "number", "ran", "mean_wait", "longest_wait", "ran_without", "mean_wait_without")
BUDGETS = ("scope", "budget", "used")
CLOUDS = ("provider", "machines", "bill", "cost", "left")
LEFT_OUT = ("job", "user", "submitted", "ran", "reason")
MAX_ROWS = 20
"""Of jobs that were left out; JSON has all."""


def run(path: str, output: Format) -> bool:
    """Run the scenario of a file, and print what came of it; return whether nothing is left and all is kept.

    Raises SettingsInvalid, DatabaseError and PolicyDefect.
    """
    found = asyncio.run(_rehearsed(scenario_file.load(Path(path))))
    if output == "json":
        echo(json_text(found, indent=2))
    else:
        _print(found)
    return is_clean(found)


def is_clean(found: Mapping[str, Any]) -> bool:
    """Return whether clouds list nothing at the end, and no budget was exceeded."""
    return not any(each["left"] for each in found["clouds"])


async def _rehearsed(file: ScenarioFile) -> dict[str, Any]:
    async with rehearsal.opened(file) as opened:
        await opened.run()
        return await outcome.of(opened)


def _print(found: Mapping[str, Any]) -> None:
    currency = found["currency"]
    echo(f"bursts, from {found['begin']} on, in {currency}:")
    show([_burst(each) for each in found["bursts"]], BURSTS, "table", "none was made")
    echo("\nwaits of jobs, and without bursts:")
    show([_spans(each) for each in found["waits"] if each["number"]], WAITS, "table")
    echo(f"\nbudgets, and what was used and reserved of each at most in a period, in {currency}:")
    budgets = [{**each, "budget": each["amount"]} for each in found["budgets"]]
    show(budgets, BUDGETS, "table", "none, or nothing was used")
    echo(f"\nclouds, each with its own bill and what the ledger has, in {currency}:")
    show([{**each, "left": _left(each)} for each in found["clouds"]], CLOUDS, "table")
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
    return {**row, "at": span(row["at"]), "ended": ended, "machine": machine, "jobs": len(row["jobs"])}


def _spans(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: span(value) if "wait" in name and value is not None else value for name, value in row.items()
    }


def _left(row: Mapping[str, Any]) -> str:
    return "; ".join(row["left"]) or "nothing"


def span(seconds: float) -> str:
    """Return a time from the begin on as h:mm:ss."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
