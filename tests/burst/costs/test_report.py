"""The facts of a report's page, and of the same for programs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from burst.costs.report import page, reading, series, tables
from burst.costs.report.dates import DateAxis
from burst.costs.report.records import ReportData
from burst.lifecycle.states import BurstState
from burst.planning.money import MICRO
from tests.burst.costs import picture
from tests.burst.costs.reported import BEGIN, DAY, HOUR, burst, lived, many, report, still_there
from tests.burst.life.world import World, ended
from tests.burst.life.world import lived as life

FEW = [lived(1, BEGIN + HOUR), lived(2, BEGIN + 1.5 * HOUR, provider="near", nodes=2)]
STUCK = still_there(3, BEGIN + 3 * HOUR)
NOW = BEGIN + 6 * HOUR


def rows(html: str) -> list[list[str]]:
    """Return the cells of each row of the page's tables."""
    found = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", each, re.DOTALL) for each in found]


def test_the_page_has_a_row_for_each_scope_and_burst_the_newest_first() -> None:
    found = rows(page(report([*FEW, STUCK], NOW, budget=30)))
    assert found[1] == ["all", "9.00", "9.00", "30.00", "month", "60%", "12.00", "EUR"]
    bursts = found[5:]
    assert [each[0] for each in bursts] == ["0000000003", "0000000002", "0000000001"]
    assert bursts[0][4:] == [
        *("4", "deleting", "2026-11-01 03:00", "", "17.40", "9.00", "it has nothing to do"),
    ]
    assert bursts[1][1:4] == ["physics/mc burst-2", "near", "c8"]
    assert bursts[1][5:8] == ["succeeded", "2026-11-01 01:30", "2026-11-01 02:42"]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    html = page(report(list(many(60))))
    assert "<script" not in html
    assert re.findall(r'(?:src|href)="|url\(|@import|https?://', html) == []


def test_a_slot_is_a_line_and_a_state_a_bar() -> None:
    html = page(report([*FEW, STUCK], NOW))
    assert re.findall(r'text-anchor="end">(physics/mc [^<]*)<', html) == [
        *("physics/mc burst-0", "physics/mc burst-1", "physics/mc burst-2"),
    ]
    bars = re.findall(r'<rect class="s-([a-z]+)"[^>]*><title>([^<]*)</title>', html)
    of_one = [title for _, title in bars if title.startswith("0000000001")]
    assert of_one[3] == ("0000000001 (far, 4 nodes): active from 2026-11-01 01:04 to 2026-11-01 01:54")
    states = ["planned", "provisioning", "joining", "active", "draining", "deleting"]
    assert [state for state, _ in bars] == 3 * states


def test_what_people_have_named_is_text() -> None:
    name = "<b>@BURSTS@</b>"
    html = page(report([lived(1, BEGIN + HOUR, cluster_name=name, reason=name, machine=name)], NOW))
    assert "<b>@" not in html
    assert html.count("&lt;b&gt;@BURSTS@&lt;/b&gt;") > 3


@pytest.mark.parametrize(
    ("bursts", "words"),
    [
        ([], "No burst was asked for."),
        (FEW[:1], "1 burst was asked for; something is left of none. It has cost 6.00 EUR."),
        (
            [*FEW, STUCK],
            "3 bursts were asked for; something is left of 1. Together they have cost 26.40 EUR.",
        ),
    ],
)
def test_the_introduction_has_the_sum(bursts: list, words: str) -> None:  # type: ignore[type-arg]
    assert words in page(report(bursts, NOW))


def test_without_bursts_there_is_no_chart() -> None:
    html = page(report([]))
    assert "<svg" not in html
    assert html.count("There were none.") == 3


def test_alarms_are_shown() -> None:
    html = page(replace(report(FEW, NOW), alarms=["burst <x> is stuck"]))
    assert '<ul class="w"><li>burst &lt;x&gt; is stuck</li></ul>' in html


def test_nodes_are_steps_by_provider() -> None:
    found = series.nodes(report([*FEW, STUCK], NOW))
    first = BEGIN + 1.1 * HOUR
    assert found["far"][:4] == [(BEGIN + HOUR, 0.0), (first, 0.0), (first, 4.0), (first + HOUR, 4.0)]
    assert found["far"][-1] == (NOW, 4.0)
    assert {value for _, value in found["near"]} == {0.0, 2.0}


def test_costs_rise_to_what_was_charged() -> None:
    data = report([*FEW, STUCK], NOW)
    found = series.cost(data)
    assert found[0] == (BEGIN + HOUR, 0.0)
    assert found[-1] == (NOW, 26.4 * MICRO)
    values = [value for _, value in found]
    assert values == sorted(values)
    assert len(series.cost(report(list(many(200))))) == series.MAX_POINTS + 1


def test_what_is_used_is_the_reservation_then_the_charge_or_more_where_it_costs_more() -> None:
    data = report(FEW[:1], NOW)
    assert {value / MICRO for _, value in series.used(data)} == {0.0, 9.0, 6.0}
    stuck = series.used(report([STUCK], NOW))
    assert max(value for _, value in stuck) == stuck[-1][1] == 17.4 * MICRO


def test_a_budget_is_drawn_where_the_report_is_within_its_period() -> None:
    data = report(FEW, NOW, budget=30)
    assert page(data).count("<title>budget</title>") == 1
    earlier = [lived(9, BEGIN - DAY), *FEW]
    html = page(replace(data, bursts=earlier))
    assert "<title>budget</title>" not in html
    assert "There is no budget of all bursts for exactly this time." in html


def test_programs_get_the_same() -> None:
    found = tables.facts(report([*FEW, STUCK], NOW, budget=30))
    assert found["scopes"][0]["left"] == "12.00"
    last = found["bursts"][-1]
    assert (last["state"], last["ended"], last["cost"], last["worst"]) == ("deleting", None, "17.40", "9.00")
    assert last["nodes_there"] == [{"at": BEGIN + 3.1 * HOUR, "nodes": 4}]
    assert last["states"][-1] == {"state": "deleting", "begin": BEGIN + 4 * HOUR, "end": NOW}


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (600.0, ["00:00", "00:02", "00:04", "00:06", "00:08", "00:10"]),
        (DAY, ["00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00", "00:00"]),
        (2 * DAY, ["11-01 00:00", "11-01 06:00", "11-01 12:00"]),
        (20 * DAY, ["2026-11-03", "2026-11-08", "2026-11-13"]),
    ],
)
def test_ticks_are_at_whole_times(span: float, words: list[str]) -> None:
    found = [word for _, word in DateAxis(BEGIN, BEGIN + span, "time").ticks()]
    assert found[: len(words)] == words
    assert len(found) <= 10


def test_it_is_made_of_the_ledger_alone() -> None:
    """A burst's states are those that its journal has."""

    async def scenario(world: World) -> ReportData:
        await world.request(3, 4)
        await ended(world)
        found = await world.context.ledger.read(lambda connection: reading.read(connection, 0.0))
        return ReportData(0.0, world.now, "EUR", found)

    data = life(scenario)
    [one] = data.bursts
    assert [state for _, state in one.states] == list(BurstState)
    assert one.charged == one.cost(data.now)
    assert [each.nodes for each in one.counts] == [4, 0]
    assert max(value for _, value in series.nodes(data)["memory"]) == 4.0
    assert series.used(data)[-1][1] == series.cost(data)[-1][1] == one.charged


def test_a_burst_that_was_refused_has_no_bar() -> None:
    refused = still_there(1, BEGIN + HOUR)._replace(
        states=[(BEGIN + HOUR, BurstState.REQUESTED)], counts=(), reserved_at=None
    )
    data = report([refused._replace(burst=burst(1, BEGIN + HOUR, nodes=4))], NOW)
    assert "<rect" not in page(data)
    assert series.used(data)[-1][1] == 0.0


def test_the_picture_of_the_guide_is_what_is_drawn() -> None:
    """Where it is not: `python -m tests.burst.costs.picture`."""
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.drawn()
