"""The same of a burst that does not join: its job leaves, runs once, and what it wrote is all here."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.burst.life.isolated_world import IsolatedWorld
from tests.burst.life.test_kill_grid import WAYS
from tests.burst.life.world import opened_as

READS = {"lead identity", "lead standing", "provider get", "provider owned", "remote view"}


async def _life(kill: tuple[str, int] | None) -> IsolatedWorld:
    """Let an isolated burst live; return its world, which has been checked."""
    async with opened_as(IsolatedWorld, kill) as world:
        await world.request(3, seconds=5.0)
        await world.run()
        await world.check()
        return world


def points() -> list[str]:
    """Every call and commit in the life of an isolated burst that nothing happens to."""
    return asyncio.run(_life(None)).meter.names


def targets() -> list[int]:
    """The numbers of the points at which it is killed: of what only reads, the first three of a kind."""
    found, seen = [], Counter[str]()
    for number, name in enumerate(points(), 1):
        seen[name] += 1
        if name not in READS or seen[name] <= 3:
            found.append(number)
    return found


def test_the_grid_has_every_kind_of_call_and_commit() -> None:
    found = points()
    providers = {f"provider {name}" for name in ("create", "get", "delete", "owned")}
    leads = {f"lead {name}" for name in ("identity", "standing", "stand_in", "jobspec", "write", "finish")}
    remotes = {f"remote {name}" for name in ("view", "submit", "release", "pack")}
    assert set(found) == {"commit", *providers, *leads, *remotes}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("way", WAYS)
def test_killed_at_each_point(way: str, part: int) -> None:
    async def work() -> None:
        for number in numbers[part::2]:
            world = await _life((way, number))
            assert world.meter.kill is None, f"point {number} was never reached"
            assert world.services == (1 if way == "lost" else 2)

    numbers = targets()
    asyncio.run(work())
