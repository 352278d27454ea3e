"""A plan and a burst as people read them: several tables each."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from burst.cli import rows
from burst.planning import money
from minicluster.cli.reporting import print_notice
from minicluster.cli.tables import echo, show, show_fields

if TYPE_CHECKING:
    from collections.abc import Mapping


def show_plan(plan: Mapping[str, Any]) -> None:
    """Print the bursts of a plan, the jobs that it leaves out, and how it is applied."""
    number = len(plan["bursts"])
    counted = "1 burst" if number == 1 else f"{number or 'no'} bursts"
    echo(f"{plan['cluster']}: {counted}, at most {plan['worst']} {plan['currency']}")
    if plan["bursts"]:
        show(rows.shown_bursts(plan), rows.PLAN_COLUMNS, "table")
    if plan["left_out"]:
        echo("left out:")
        show(rows.shown_left_out(plan), rows.LEFT_OUT_COLUMNS, "table")
    if plan["bursts"] and plan["dry_run"]:
        print_notice(f"`minicluster burst apply {plan['digest']}` has them made")


def show_details(found: Mapping[str, Any]) -> None:
    """Print a burst with its resources, its jobs and its journal."""
    row = rows.shown(found)
    row["cost_so_far"] = money.rounded(money.amount(row["cost_so_far"]))
    shown = (*rows.BURST_COLUMNS, "machine", "location", "nodes_there", "cost_so_far")
    show_fields({key: row[key] for key in shown})
    show(found["resources"], ("kind", "name", "nodes"), "table", "no resources")
    jobs = [{**each, "job": jobid.f58(each["id"])} for each in found["jobs"]]
    show(jobs, ("job", "user", "outcome"), "table", "no jobs")
    for line in found["journal"]:
        echo(f"{datetime.fromtimestamp(line['at']).astimezone():%Y-%m-%d %H:%M:%S}  {line['text']}")
