"""A burst whose jobs run is seldom looked at, but for what somebody asks."""

from __future__ import annotations

import dataclasses

from burst import asked
from burst.lifecycle.machine import MAX_QUIET
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


def test_a_provider_is_seldom_asked() -> None:
    async def scenario(world: World) -> None:
        await active(world)
        ticks = 8
        for _ in range(ticks):
            await world.tick()
        assert [each.state for each in await world.bursts()] == ["active"]
        resources = 2
        assert world.cloud.calls.count("get") <= resources * (1 + ticks * TICK / MAX_QUIET)

    lived(scenario)


def test_the_end_that_somebody_asks_for_is_not_delayed() -> None:
    async def scenario(world: World) -> None:
        burst = await active(world)
        await asked.stop(world.user_ledger, burst)
        await world.tick()
        assert [each.state for each in await world.bursts()] == ["draining"]

    lived(scenario)
