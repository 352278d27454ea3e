"""`burst cost` and `burst report`: with a ledger, and without a service."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from burst.ledger import bursts, node_counts, reservations, resources
from burst.ledger.schema import SCHEMA
from burst.lifecycle.metering import NodeCount
from minicluster.database import migrate, open_database
from tests.burst.cli.test_commands import burst, folder
from tests.burst.costs.reported import lived, still_there

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

    Burst = Callable[..., Answer]

__all__ = ["burst", "folder"]
SETTINGS = """\
providers:
- name: far
  kind: memory
  settings:
    offers: [{machine: c8, cores: 8, pricePerHour: "1.50", feePerHour: "0.10"}]
budgets:
- {scope: all, amount: "16", period: none}
perUser: {amount: "50", period: none}
"""
HOUR = 3600.0
STUCK = r"burst 0000000003 at far is not deleted after 1\d\d minutes, and costs 6\.00 EUR an hour"


@pytest.fixture
def spent(folder: Path) -> float:
    """Have a burst that has cost 6, one that is stuck for two hours, and one of ten years ago."""
    (folder / "burst.yaml").write_text(SETTINGS)
    now = time.time()

    async def work() -> None:
        url = f"sqlite:///{folder / 'burst.db'}"
        await migrate(url, SCHEMA)
        database = await open_database(url, SCHEMA)
        found = [
            lived(1, now - 3.5e8),
            lived(2, now - 4 * HOUR),
            still_there(3, now - 3 * HOUR),
        ]
        async with database.write() as connection:
            for each in found:
                one = replace(each.burst, id=f"0{each.burst.id[1:]}")
                await bursts.add(connection, one)
                await resources.add(connection, one.id, [each.resources[0].key])
                for count in each.counts:
                    await node_counts.add(connection, one.id, NodeCount(*count))
                await reservations.reserve(connection, one.id, one.amounts, (), one.created)
                if each.charged is not None:
                    charged = dict.fromkeys(one.amounts, each.charged)
                    await reservations.set_amounts(connection, one.id, charged, is_charged=True)
        await database.close()

    asyncio.run(work())
    return now


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_what_bursts_have_cost_is_shown_by_scope(burst: Burst, spent: float) -> None:
    del spent
    answer = burst("cost", "--period", "all")
    assert rows(answer.out) == [
        ["SCOPE", "CHARGED", "RESERVED", "BUDGET", "PERIOD", "USED", "LEFT", "CURRENCY"],
        ["all", "12.00", "9.00", "16.00", "none", "131%", "-5.00", "EUR"],
        ["provider:far", "12.00", "9.00", "EUR"],
        ["user:alice", "12.00", "9.00", "50.00", "none", "42%", "29.00", "EUR"],
    ]
    budget, stuck, beyond = answer.err.split(" minicluster: ")
    assert budget == "minicluster: budget all: 131% of the 16.00 EUR are charged or reserved"
    assert re.fullmatch(STUCK, stuck)
    [amount] = re.findall(r"has cost ([\d.]+) EUR beyond what was reserved for it$", beyond)
    assert 8.4 <= float(amount) < 14.4  # more with each minute that this takes


def test_bursts_since_a_time_are_counted_alone(burst: Burst, spent: float) -> None:
    day = f"{datetime.fromtimestamp(spent - 5 * HOUR, UTC):%Y-%m-%dT%H:%M}"
    assert rows(burst("cost", "--since", day, "--by", "user").out)[1][:3] == ["user:alice", "6.00", "9.00"]


def test_programs_get_json_or_csv(burst: Burst, spent: float) -> None:
    del spent
    found = json.loads(burst("cost", "--period", "all", "--output", "json").out)
    assert found[0] == {
        "scope": "all",
        "charged": "12.00",
        "reserved": "9.00",
        "budget": "16.00",
        "period": "none",
        "used": "131%",
        "left": "-5.00",
        "currency": "EUR",
    }
    text = burst("cost", "--period", "all", "--output", "csv").out
    read = list(csv.DictReader(io.StringIO(text)))
    assert [each["scope"] for each in read] == ["all", "provider:far", "user:alice"]
    assert {name for name, value in read[1].items() if value} == {"scope", "charged", "reserved", "currency"}
    assert (read[1]["charged"], read[1]["reserved"]) == ("12.00", "9.00")


def test_nothing_was_spent(burst: Burst) -> None:
    assert rows(burst("cost").out)[1:] == [["all", "0.00", "0.00", "EUR"]]


@pytest.mark.parametrize("command", ["cost", "report"])
def test_what_is_no_date_is_refused(burst: Burst, command: str) -> None:
    answer = burst(command, "--since", "yesterday")
    words = "is no date; right would be 2026-11-01, or 2026-11-01T08:00 in UTC"
    assert (answer.code, answer.err) == (2, f"minicluster: --since yesterday: {words}")


def test_a_list_has_alarms_behind_it(burst: Burst, spent: float) -> None:
    del spent
    answer = burst("list")
    assert len(answer.out.splitlines()) == 2
    assert re.search(STUCK, answer.err)


def test_what_one_has_cost_so_far_is_shown(burst: Burst, spent: float) -> None:
    del spent
    lines = [" ".join(line.split()) for line in burst("show", "0000000003").out.splitlines()]
    assert "nodes there: 4" in lines
    [so_far] = [float(line.rpartition(" ")[2]) for line in lines if line.startswith("cost so far: ")]
    assert 17.4 <= so_far < 23.4  # more with each minute that this takes
    assert "cost: <= 9.00" in lines
    found = json.loads(burst("show", "0000000002", "--output", "json").out)
    assert (found["nodes_there"], found["cost_so_far"]) == (0, "6.00")
    assert [each["nodes"] for each in found["node_counts"]] == [4, 0]


def test_a_report_is_a_page_or_json(burst: Burst, spent: float, tmp_path: Path) -> None:
    del spent
    page, facts = tmp_path / "burst.html", tmp_path / "burst.json"
    answer = burst("report", "--period", "all", "--output", str(page))
    assert (answer.code, answer.out) == (0, f"wrote {page}\n")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "0000000003" in page.read_text()
    burst("report", "--period", "all", "--output", str(facts))
    found = json.loads(facts.read_text())
    assert [each["burst"] for each in found["bursts"]] == ["0000000001", "0000000002", "0000000003"]
    assert len(found["alarms"]) == 3
    shown = json.loads(burst("report", "--period", "all", "--output", "-").out)
    assert shown["scopes"] == found["scopes"]


def test_a_report_of_nothing(burst: Burst, tmp_path: Path) -> None:
    page = tmp_path / "burst.html"
    assert burst("report", "--output", str(page)).code == 0
    assert "No burst was asked for." in page.read_text()


def test_a_report_that_cannot_be_written(burst: Burst, tmp_path: Path) -> None:
    path = tmp_path / "absent" / "burst.html"
    answer = burst("report", "--output", str(path))
    assert (answer.code, answer.err) == (2, f"minicluster: {path}: No such file or directory")


def test_fees_are_shown_where_there_are_any(burst: Burst, folder: Path) -> None:
    (folder / "burst.yaml").write_text(SETTINGS)
    titles, row = burst("providers").out.splitlines()
    assert "FEE AN HOUR" in titles
    assert row.split()[:7] == ["far", "far-1", "c8", "8", "0", "1.50", "0.10"]
