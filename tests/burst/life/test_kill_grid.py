"""A service is killed at every call and every commit: nothing leaks, nothing is doubled, no job is lost."""

from __future__ import annotations

import asyncio

import pytest

from tests.burst.life.world import World, opened

WAYS = ("before", "after", "lost")
"""It dies before a call or commit, or after it; or it lives, and the answer is lost."""


async def _life(kill: tuple[str, int] | None) -> World:
    """Let a burst of two jobs live; return its world, which has been checked."""
    async with opened(kill) as world:
        await world.request(3, 4, seconds=5.0)
        await world.run()
        await world.check()
        return world


def points() -> list[str]:
    """Every call and commit in the life of a burst that nothing happens to."""
    return asyncio.run(_life(None)).meter.names


def test_the_grid_has_every_kind_of_call_and_commit() -> None:
    found = points()
    assert len(found) > 90
    providers = {f"provider {name}" for name in ("create", "get", "delete", "owned")}
    leads = {f"lead {name}" for name in ("view", "probe", "move", "start_queue", "close", "conclude")}
    assert set(found) == {"commit", *providers, *leads}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_each_point(way: str, part: int) -> None:
    async def work() -> None:
        for number in range(1 + part, count + 1, 3):
            world = await _life((way, number))
            assert world.meter.kill is None, f"point {number} was never reached"
            assert world.services == (1 if way == "lost" else 2)

    count = len(points())
    asyncio.run(work())


def test_killed_again_and_again() -> None:
    """At every tenth call or commit, until the burst is deleted."""

    async def work() -> int:
        async with opened() as world:
            await world.request(3, 4, seconds=5.0)
            while not (found := await world.bursts()) or found[-1].state != "deleted":
                world.meter.kill = ("before", len(world.meter.names) + 10)
                await world.tick()
                assert world.services < 100
            await world.check()
            return world.services

    assert asyncio.run(work()) > 5
