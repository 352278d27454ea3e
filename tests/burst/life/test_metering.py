"""What a provider bills is what the ledger charges, whatever comes late, in part, or goes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied
from burst.ledger import node_counts
from burst.planning import money
from burst.providers.memory import Fault
from tests.burst.life.bill import check_money
from tests.burst.life.world import OFFER, TICK, World, ended, lived

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.lifecycle.metering import NodeCount

FEE = 36_000_000
"""An hour of a burst: ten nodes' price."""


async def counts(world: World) -> list[NodeCount]:
    [burst] = await world.bursts()
    async with world.database.read() as connection:
        return await node_counts.of_burst(connection, burst.id)


def test_all_nodes_cost_from_their_creation_until_they_are_gone() -> None:
    async def scenario(world: World) -> None:
        await world.request(3, 4)
        await ended(world)
        assert [each.nodes for each in await counts(world)] == [4, 0]
        await world.check()

    lived(scenario)


def test_of_a_creation_in_part_what_came_is_paid() -> None:
    async def scenario(world: World) -> None:
        world.cloud.partial = 2
        await world.request(4)
        outcome, reason = await ended(world)
        assert outcome == "failed"
        assert reason.endswith("is broken: 2 of 4 nodes came: there are no more")
        assert [each.nodes for each in await counts(world)] == [2, 0]
        await check_money(world)

    lived(scenario)


def test_a_creation_without_any_node_costs_nothing() -> None:
    async def scenario(world: World) -> None:
        world.cloud.partial = 0
        await world.request(4)
        await ended(world)
        assert (world.cloud.bill(), await world.spent(), await counts(world)) == (0, 0, [])

    lived(scenario)


@pytest.mark.parametrize("taken", [1, 2, 4])
def test_a_node_that_was_taken_costs_nothing_any_more(taken: int) -> None:
    async def scenario(world: World) -> None:
        await world.request(4, seconds=200.0)
        found = await world.run(until="active")
        world.cloud.take_nodes(f"mcb-{found.label}", taken)
        await ended(world)
        assert [each.nodes for each in await counts(world)] == [4, 4 - taken, 0][: 2 if taken == 4 else 3]
        await check_money(world)

    lived(scenario)


def test_a_node_that_is_taken_while_the_burst_drains_costs_nothing_any_more() -> None:
    async def scenario(world: World) -> None:
        await world.request(4, seconds=55.0)
        found = await world.run(until="active")
        world.is_ending = True
        await world.run(until="draining")
        world.cloud.take_nodes(f"mcb-{found.label}", 3)
        await ended(world)
        assert [each.nodes for each in await counts(world)] == [4, 1, 0]
        await check_money(world)

    lived(scenario)


def test_a_provider_that_cannot_be_asked_delays_no_draining() -> None:
    async def scenario(world: World) -> None:
        await world.request(4, seconds=55.0)
        found = await world.run(until="active")
        world.is_ending = True
        await world.run(until="draining")
        world.cloud.take_nodes(f"mcb-{found.label}", 3)
        world.cloud.fail("get", *(Fault(AccessDenied("the token has expired")) for _ in range(3)))
        await world.run(until="deleting", most=3)

    lived(scenario)


def test_a_deletion_that_lies_costs_until_the_listing_is_empty() -> None:
    async def scenario(world: World) -> None:
        await world.request(4)
        await world.run(until="deleting")
        world.cloud.lies = 600.0
        await ended(world)
        assert [each.nodes for each in await counts(world)] == [4, 0]
        await world.check()

    lived(scenario)


def test_what_is_listed_though_it_was_gone_was_there_all_the_time() -> None:
    """Its provider did not find it while it was used."""

    async def scenario(world: World) -> None:
        await world.request(4, seconds=200.0)
        await world.run(until="active")
        [group] = [each for each in world.cloud._made if each.ends]
        group.gone, group.hidden = world.now + 120.0, world.now
        world.lead.is_away = True
        await world.tick()
        world.lead.is_away = False
        await ended(world)
        assert [each.nodes for each in await counts(world)] == [4, 0, 4, 0]
        await check_money(world)

    lived(scenario)


def test_a_deletion_that_hangs_costs_until_its_end() -> None:
    async def scenario(world: World) -> None:
        await world.request(4)
        await world.run(until="deleting")
        world.cloud.going = 3600.0
        await ended(world, most=1000)
        await world.check()

    lived(scenario)


def _nothing(_world: World) -> None:
    """Let nothing happen."""


def _hang(world: World) -> None:
    world.cloud.going = 600.0


def _lie(world: World) -> None:
    world.cloud.lies = 600.0


@pytest.mark.parametrize("happens", [_nothing, _hang, _lie])
def test_a_fee_is_paid_while_anything_is_there(happens: Callable[[World], None]) -> None:
    async def scenario(world: World) -> None:
        world.fee = FEE
        burst = await world.request(4)
        happens(world)
        assert (await world.bursts())[-1].fee == FEE
        await ended(world, most=1000)
        made = (await counts(world))[0].at
        [group] = [each for each in world.cloud._made if each.ends]
        assert group.gone is not None
        fee = money.cost(FEE, 1, group.gone - made)
        assert fee < world.cloud.bill() == fee + money.cost(OFFER.price, 4, group.gone - made)
        await world.check()
        assert (await world.lines(burst))[-1].startswith("deleted: it has cost ")

    lived(scenario)


def test_what_its_lead_does_not_miss_is_counted_by_the_sweep() -> None:
    """A machine that no broker of it needs is not seen otherwise; a listing that lags changes nothing."""

    async def scenario(world: World) -> None:
        await world.request(4, seconds=2000.0)
        found = await world.run(until="active")
        world.cloud.lag = 10 * TICK
        [group] = [each for each in world.cloud._made if each.ends]
        group.ends.append(None)
        while len(await counts(world)) < 2:
            await world.tick()
        assert (await world.bursts())[-1].state == "active"
        assert [each.nodes for each in await counts(world)] == [4, 5]
        assert "5 of 4 nodes are listed" in await world.lines(found.id)

    lived(scenario)


def test_a_burst_is_charged_for_what_comes_to_light_after_its_end() -> None:
    """The effect of a creation came so late that two listings had nothing of it."""

    async def scenario(world: World) -> None:
        burst = await world.request(4)
        found = await world.run()
        charged, bill = await world.spent(), world.cloud.bill()
        wanted = world.context.wanted(found)
        key = world.context.provider(found).resources(wanted)[0]
        world.cloud.add(key, wanted, OFFER.price)
        for _ in range(100):
            await world.tick()
        assert world.cloud.there() == []
        assert [each.nodes for each in await counts(world)] == [4, 0, 4, 0]
        later = await world.spent() - charged
        assert 0 <= later - (world.cloud.bill() - bill) <= money.cost(OFFER.price, 4, 120.0 + TICK)
        assert "4 of 4 nodes are listed" in await world.lines(burst)

    lived(scenario)
