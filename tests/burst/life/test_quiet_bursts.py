"""A burst whose jobs run is seldom observed, and its provider is asked only where nodes are missing."""

from __future__ import annotations

import dataclasses

from burst import asked
from burst.lifecycle.machine import MAX_QUIET
from burst.providers.memory import PODS
from burst.service import BurstService
from tests.burst.life.world import TICK, TIMEOUTS, World, lived


async def active(world: World) -> str:
    """Have a burst with a job that runs on, and timeouts as they are usual; return its id."""
    timeouts = dataclasses.replace(TIMEOUTS, idle=300.0)
    world.service = BurstService(dataclasses.replace(world.context, timeouts=lambda _burst: timeouts))
    burst = await world.request(3, seconds=50.0)
    await world.run(until="active")
    await world.tick()
    world.cloud.calls.clear()
    return burst


def test_a_provider_is_not_asked_while_all_brokers_answer() -> None:
    """But for the sweep."""

    async def scenario(world: World) -> None:
        await active(world)
        for _ in range(8):
            await world.tick()
        assert [each.state for each in await world.bursts()] == ["active"]
        assert set(world.cloud.calls) <= {"owned"}

    lived(scenario)


def test_pods_that_are_lost_are_noticed_in_time() -> None:
    async def scenario(world: World) -> None:
        await active(world)
        [pods] = [each.key for each in world.cloud.there() if each.key.kind == PODS]
        world.cloud.remove(pods)
        lost = world.now
        found = await world.run(until="deleting")
        assert world.now - lost <= MAX_QUIET + 2 * TICK
        assert found.reason == f"pods {pods.name} is absent"

    lived(scenario)


def test_the_end_that_somebody_asks_for_is_not_delayed() -> None:
    async def scenario(world: World) -> None:
        burst = await active(world)
        await asked.stop(world.user_ledger, burst)
        await world.tick()
        assert [each.state for each in await world.bursts()] == ["draining"]

    lived(scenario)
