"""What Prometheus reads of a burst service, through a burst's whole life; and that its page lists it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from burst.advance.advance import is_stuck
from burst.costs import budgets
from burst.errors import AccessDenied, RetryLater
from burst.kubernetes import figures, measurements
from burst.kubernetes.counted_provider import CALLS, CountedProvider
from burst.kubernetes.measurements import BurstMeasurements
from burst.ledger import totals
from burst.lifecycle.records import BurstRecord, ResourceKey
from burst.lifecycle.states import BurstState
from burst.providers.memory import NODES, Fault, MemoryCloud, MemoryProvider
from burst.providers.provider import WantedBurst
from burst.service import BurstService
from burst.settings import file
from tests.burst.life.world import OFFER, TICK, World, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

PAGE = (Path(__file__).parents[3] / "docs" / "burst-service.md").read_text()
SETTINGS = file.parse(
    "currency: USD\n"
    "providers: [{name: memory, kind: memory}]\n"
    'budgets: [{scope: all, amount: "250"}, {scope: "provider:memory", amount: "12.50", period: week}]\n'
).settings
SCOPES = ("all", "provider:memory")


class MeasuredWorld:
    """A world whose service is measured."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.metrics = BurstMeasurements(SETTINGS, world.clock)
        providers = {name: self.metrics.counted(each) for name, each in world.context.providers.items()}
        world.context = replace(world.context, providers=providers, left=self.metrics.left)
        world.service = BurstService(world.context)
        self.metrics.swept = lambda: world.service.swept
        self.metrics.listed = lambda: world.service.listed

    async def read(self) -> None:
        """Read the ledger, as the service does from time to time."""
        context = self.world.context
        now = context.now()
        watched = list(budgets.of_service(SETTINGS, now))
        found = await self.world.ledger.read(partial(figures.read, budgets=watched))
        self.metrics.figures = figures.figures(
            found, context.providers, SCOPES, lambda burst: is_stuck(context, burst), now
        )
        self.metrics.swept_up(self.world.service.report)

    def value(self, name: str, **labels: str) -> float | None:
        """Return what a scrape shows now."""
        return self.metrics.registry.get_sample_value(name, labels)


def measured(scenario: Callable[[MeasuredWorld], Coroutine[Any, Any, Any]]) -> None:
    async def work() -> None:
        async with opened() as world:
            await scenario(MeasuredWorld(world))

    asyncio.run(work())


def test_a_burst_is_counted_while_it_lasts_and_charged_at_its_end() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        await world.world.request(1, 2)
        await world.read()
        requested = {"state": "requested", "provider": "memory"}
        assert world.value(measurements.BURSTS, **requested) == 1
        assert world.value(measurements.NODES, provider="memory") == 0
        assert world.value(measurements.RESERVED, currency="USD", scope="all") == 0

        burst = await world.world.run(until="active")
        await world.read()
        assert world.value(measurements.BURSTS, **requested) == 0
        assert world.value(measurements.BURSTS, state="active", provider="memory") == 1
        assert world.value(measurements.NODES, provider="memory") == burst.nodes
        worst = burst.amounts["all"] / 1_000_000
        for scope in SCOPES:
            assert world.value(measurements.RESERVED, currency="USD", scope=scope) == worst
        assert world.value(measurements.COST, currency="USD", provider="memory") == 0

        await world.world.run()
        await world.read()
        assert world.value(measurements.BURSTS, state="active", provider="memory") == 0
        assert world.value(measurements.NODES, provider="memory") == 0
        assert world.value(measurements.RESERVED, currency="USD", scope="all") == 0
        charged = await world.world.spent() / 1_000_000
        assert charged > 0
        assert world.value(measurements.COST, currency="USD", provider="memory") == charged
        assert world.value(measurements.JOBS, result=totals.RAN) == 1
        assert world.value(measurements.JOBS, result=totals.NOT_MOVED) == 1  # it has begun here meanwhile
        assert world.value(measurements.JOBS, result=totals.RETURNED) == 0
        assert world.value(measurements.STUCK) == 0

    measured(scenario)


def test_jobs_that_ended_with_the_nodes_of_a_burst_are_counted_apart() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        await world.world.request(3, seconds=1000.0)
        await world.world.run(until="active")
        while world.world.lead.jobs[1].ends is None:
            await world.world.tick()
        for each in world.world.cloud.there():
            world.world.cloud.remove(each.key)
        await world.world.run()
        await world.read()
        assert world.value(measurements.JOBS, result=totals.BEGUN_ANEW) == 1
        assert world.value(measurements.JOBS, result=totals.RAN) == 0

    measured(scenario)


def test_each_state_is_measured_when_it_is_left() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        await world.world.request(1)
        await world.world.run()
        for state in BurstState:
            count = world.value(f"{measurements.STATE_SECONDS}_count", state=state)
            assert count == (None if state is BurstState.DELETED else 1)
        active = world.value(f"{measurements.STATE_SECONDS}_sum", state="active")
        assert active is not None
        assert active >= 20  # its job has begun here meanwhile, and it had nothing to do for so long

    measured(scenario)


def test_calls_of_providers_are_counted_by_how_they_ended() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        for call in CALLS:
            name = measurements.PROVIDER_REQUESTS
            assert world.value(name, provider="memory", call=call, code="ok") == 0
        world.world.cloud.fail("create", Fault(RetryLater("busy")))
        await world.world.request(1)
        await world.world.run()
        created = {"provider": "memory", "call": "create"}
        assert world.value(measurements.PROVIDER_REQUESTS, **created, code="retry-later") == 1
        made = world.value(measurements.PROVIDER_REQUESTS, **created, code="ok")
        assert made is not None
        assert made >= 1

    measured(scenario)


def test_a_sweep_is_counted_once_and_grows_old() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        assert world.value(measurements.SWEEP_AGE) is None
        wanted = WantedBurst("mcb-lost", "here", 1, "c8", spot=False, until=0.0)
        world.world.cloud.add(ResourceKey(NODES, "mcb-lost", 1), wanted, 0)
        world.world.now += 1000
        world.world.cloud.fail("delete", Fault(AccessDenied("no")))
        await world.world.tick()
        for _ in range(2):
            await world.read()
        assert world.value(measurements.ORPHANS, action="not-deleted") == 1
        assert world.value(measurements.ORPHANS, action="deleted") == 0
        before = world.value(measurements.SWEEP_AGE)
        world.world.now += 60
        assert before is not None
        assert world.value(measurements.SWEEP_AGE) == before + 60
        world.world.now += 60
        await world.world.tick()
        await world.read()
        assert world.value(measurements.ORPHANS, action="deleted") == 1

    measured(scenario)


def test_what_is_stuck_costs_and_uses_budgets_and_what_was_not_reserved() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        money, stuck = {"currency": "USD", "provider": "memory"}, world.world
        await stuck.request(3, 4)
        await stuck.run(until="deleting")
        await world.read()
        month = {"currency": "USD", "scope": "all", "period": "month"}
        reserved = await stuck.spent() / 1_000_000
        assert world.value(measurements.BUDGET_USED, **month) == reserved
        assert world.value(measurements.STUCK_COST, **money) == 0
        assert world.value(measurements.BEYOND, **money) == 0
        stuck.cloud.going = 5000.0
        for _ in range(int(4000 / TICK)):
            await stuck.tick()
        await world.read()
        assert world.value(measurements.STUCK_COST, **money) == 4 * OFFER.price / 1_000_000
        beyond = world.value(measurements.BEYOND, **money)
        assert beyond is not None
        assert beyond > 0
        assert world.value(measurements.BUDGET_USED, **month) == pytest.approx(reserved + beyond, abs=0.03)

    measured(scenario)


def test_the_age_of_each_providers_listing_is_measured() -> None:
    async def scenario(world: MeasuredWorld) -> None:
        await world.world.tick()
        world.world.cloud.fail("list", *(Fault(AccessDenied("expired")) for _ in range(9)))
        for _ in range(100):
            await world.world.tick()
        assert world.value(measurements.LISTING_AGE, provider="memory") == 101 * TICK

    measured(scenario)


def test_budgets_are_shown_before_anything_was_read() -> None:
    metrics = BurstMeasurements(SETTINGS, lambda: 0.0)
    shown = metrics.registry.get_sample_value
    assert shown(measurements.BUDGET, {"currency": "USD", "scope": "all", "period": "month"}) == 250
    week = {"currency": "USD", "scope": "provider:memory", "period": "week"}
    assert shown(measurements.BUDGET, week) == 12.5
    assert shown(measurements.STUCK) is None


def test_one_whose_deletion_takes_too_long_is_stuck_and_its_nodes_cost() -> None:
    values: dict[str, Any] = {"location": "l", "machine": "m", "nodes": 3, "created": 0.0, "until": 9.0}
    burst = BurstRecord("id", "mc", "s", "gone", **values, state=BurstState.DELETING)
    found = figures.figures(figures.LedgerTotals((burst,), {}, {}, {}), ["near"], (), lambda _: True)
    assert found.stuck == 1
    assert found.nodes == {"near": 0, "gone": 3}
    assert found.charged == {"near": 0, "gone": 0}
    assert found.states["deleting", "gone"] == 1
    assert found.reserved == {"provider:near": 0, "provider:gone": 0}


def test_what_costs_nothing_to_ask_is_not_counted() -> None:
    calls: list[tuple[str, str, str]] = []
    cloud = MemoryCloud(lambda: 0.0)
    counted = CountedProvider(MemoryProvider(cloud, [OFFER]), lambda *call: calls.append(call))
    assert (counted.name, counted.location) == ("memory", "memory-1")
    assert list(counted.offers()) == [OFFER]
    assert list(counted.owned("here")) == []
    assert list(counted.problems()) == []
    assert calls == [("memory", "owned", "ok"), ("memory", "problems", "ok")]


@pytest.mark.parametrize("name", measurements.NAMES)
def test_the_page_lists_each(name: str) -> None:
    assert f"| `{name}` |" in PAGE


def test_the_page_lists_results_and_actions() -> None:
    for word in (*totals.JOB_RESULTS, *measurements.ACTIONS):
        assert f"`{word}`" in PAGE
