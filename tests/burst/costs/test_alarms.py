"""What an administrator is warned of, and that it is logged once."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Never

import pytest

from burst.costs import alarm_log, alarms
from burst.costs.alarm_log import AlarmLog
from burst.costs.alarms import AlarmKind, CostAlarm
from burst.costs.budgets import PeriodBudget
from burst.costs.rows import BudgetUse
from burst.costs.running import RunningBurst
from burst.errors import LeadAway
from burst.lifecycle.states import Timeouts
from burst.planning.money import MICRO
from burst.providers.memory import MemoryCloud, MemoryProvider
from burst.settings import file
from tests.burst.costs.reported import BEGIN, HOUR, lived, still_there
from tests.burst.life.world import OFFER, TICK, World, ended
from tests.burst.life.world import lived as life
from tests.burst.proofs.looping_service import looping

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from burst.costs.report.records import ReportedBurst

MONTH = PeriodBudget("provider:far", 200 * MICRO, "month", BEGIN)
SETTINGS = file.parse(
    "providers: [{name: memory, kind: memory}]\n"
    'budgets: [{scope: all, amount: "1", period: none}, {scope: "provider:memory", amount: "18"}]\n'
    'perUser: {amount: "0.01"}\n'
).settings


def running(found: ReportedBurst) -> RunningBurst:
    return RunningBurst(found.burst, found.resources, found.counts)


def of_bursts(found: ReportedBurst, after: float, *, is_stuck: bool) -> list[CostAlarm]:
    return list(alarms.of_bursts([running(found)], lambda _: is_stuck, "EUR", found.burst.created + after))


def test_a_burst_that_is_stuck_is_named_with_its_cost_an_hour() -> None:
    [found] = of_bursts(still_there(7, BEGIN), 2.25 * HOUR, is_stuck=True)[:1]
    text = "burst 0000000007 at far is not deleted after 75 minutes, and costs 6.00 EUR an hour"
    assert found == CostAlarm(AlarmKind.STUCK, "0000000007", text)


def test_what_has_cost_more_than_was_reserved_is_named_with_the_amount() -> None:
    assert of_bursts(still_there(7, BEGIN), 1.5 * HOUR, is_stuck=False) == []
    [found] = of_bursts(still_there(7, BEGIN), 2.6 * HOUR, is_stuck=False)
    text = "burst 0000000007 at far has cost 6.00 EUR beyond what was reserved for it"
    assert found == CostAlarm(AlarmKind.BEYOND, "0000000007", text)


def test_one_of_which_nothing_is_left_costs_nothing() -> None:
    assert of_bursts(lived(7, BEGIN), 9 * HOUR, is_stuck=False) == []


@pytest.mark.parametrize(
    ("used", "kind", "text"),
    [
        (159, None, ""),
        (160, AlarmKind.BUDGET_NEARLY, "80% of the 200.00 EUR of this month are charged or reserved"),
        (199, AlarmKind.BUDGET_NEARLY, "100% of the 200.00 EUR of this month are charged or reserved"),
        (200, AlarmKind.BUDGET_USED, "100% of the 200.00 EUR of this month are charged or reserved"),
        (230, AlarmKind.BUDGET_USED, "115% of the 200.00 EUR of this month are charged or reserved"),
    ],
)
def test_a_budget_is_named_from_four_fifths_on(used: int, kind: AlarmKind | None, text: str) -> None:
    found = list(alarms.of_budgets([BudgetUse(MONTH, MONTH.scope, used * MICRO)], "EUR"))
    expected = [] if kind is None else [CostAlarm(kind, "provider:far month", f"budget provider:far: {text}")]
    assert found == expected


def test_a_budget_for_ever_has_no_period() -> None:
    budget = MONTH._replace(period="none")
    [found] = alarms.of_budgets([BudgetUse(budget, "all", budget.amount)], "USD")
    assert found.text == "budget all: 100% of the 200.00 USD are charged or reserved"


def test_a_provider_that_did_not_list_for_long_is_named() -> None:
    asked = {"near": BEGIN, "far": BEGIN - 100.0}
    [found] = alarms.of_providers(asked, BEGIN + 899.0)
    text = "provider far has not listed for 16 minutes what is there: what is left over is not seen"
    assert found == CostAlarm(AlarmKind.UNASKED, "far", text)


def test_each_is_logged_when_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    one, other = (CostAlarm(AlarmKind.STUCK, name, f"burst {name} is stuck") for name in "ab")
    log = AlarmLog()
    with caplog.at_level(logging.WARNING):
        for found in ([one], [one, other], [one._replace(text="burst a is stuck longer")], [other, one]):
            log.note(found)
    assert caplog.messages == ["burst a is stuck", "burst b is stuck", "burst b is stuck"]


def test_those_of_a_service_are_read_of_its_ledger() -> None:
    """Budgets of users are theirs: there may be many."""

    async def scenario(world: World) -> list[AlarmKind]:
        await world.request(3, 4)
        await world.run(until="deleting")
        world.cloud.going = 5000.0
        for _ in range(int(4000 / TICK)):
            await world.tick()
        found = await alarm_log.read(world.context, SETTINGS, {"memory": world.now - 1000.0})
        await ended(world, most=500)
        return [each.kind for each in found]

    kinds = life(scenario)
    assert kinds == [
        *(AlarmKind.STUCK, AlarmKind.BEYOND, AlarmKind.BUDGET_USED, AlarmKind.BUDGET_NEARLY),
        AlarmKind.UNASKED,
    ]


def test_a_provider_is_asked_by_each_sweep() -> None:
    async def scenario(world: World) -> None:
        begun = world.now
        assert world.service.listed == {"memory": begun}
        await world.tick()
        for _ in range(30):
            await world.tick()
        assert world.service.listed["memory"] > begun + 100.0

    life(scenario)


def test_a_service_logs_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else it does: what is read of the ledger is above."""
    text = "provider memory has not listed"
    asked: list[Mapping[str, float]] = []

    async def found(_context: object, _settings: object, listed: Mapping[str, float]) -> list[CostAlarm]:
        asked.append(listed)
        return [CostAlarm(AlarmKind.UNASKED, "memory", text)]

    async def work() -> None:
        provider = MemoryProvider(MemoryCloud(time.time), [OFFER])
        url = f"sqlite:///{tmp_path}/state/burst.db"
        async with asyncio.timeout(60), looping(url, provider, no_lead, Timeouts()):
            while not asked:
                await asyncio.sleep(0.02)

    def no_lead(cluster: str) -> Never:
        raise LeadAway(cluster)

    monkeypatch.setattr(alarm_log, "read", found)
    with caplog.at_level(logging.WARNING, logger="burst.costs.alarm_log"):
        asyncio.run(work())
    assert caplog.messages == [text]
    assert [list(each) for each in asked] == [["memory"]]
