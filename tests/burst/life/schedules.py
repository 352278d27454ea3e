"""Random lives: services are killed, calls fail, answers are lost, listings lag, leads do not answer."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from burst.asked import stop
from burst.errors import AccessDenied, BurstUnknown, NoCapacity, RetryLater
from burst.lifecycle.records import label_of
from burst.providers.memory import NODES, Fault
from tests.burst.life.bill import check_money
from tests.burst.life.world import TIMEOUTS, opened

if TYPE_CHECKING:
    from tests.burst.life.world import World

CALLS = ("create", "get", "delete", "list")
MAX_TICKS = 600


async def run(seed: int) -> str:
    """Let one burst live through a schedule; return its outcome. Raises AssertionError with the seed."""
    random = Random(seed)
    async with opened() as world:
        world.cloud.lag = random.choice((0.0, 0.0, 10.0, 60.0))
        world.fee = random.choice((0, 36_000_000))
        if world.cloud.lag < TIMEOUTS.verified:  # else no listing has what a deletion lies about
            world.cloud.lies = random.choice((0.0, 60.0))
        world.cloud.partial = random.choice((None, None, None, 2))
        world.cloud.coming, world.cloud.going = (random.choice((0.0, 5.0, 30.0)) for _ in range(2))
        jobs = [random.randint(3, 4) for _ in range(random.randint(1, 3))]
        burst = await world.request(*jobs, seconds=random.choice((1.0, 10.0, 40.0)))
        for tick in range(MAX_TICKS):
            if tick < 40:
                await _disturb(world, random, burst)
            elif tick == 40:
                world.lead.is_away = False
            await world.tick()
            _check_now(world, seed)
            found = (await world.bursts())[-1]
            if found.state == "deleted" and tick > 40:
                break
        await _check_end(world, seed)
        return str(found.outcome)


async def _disturb(world: World, random: Random, burst: str) -> None:
    """Let something happen, sometimes."""
    chance = random.random()
    if chance < 0.25:
        way = random.choice(("before", "after", "lost"))
        world.meter.kill = (way, len(world.meter.names) + random.randint(1, 8))
    elif chance < 0.4:
        error = random.choice((OSError("reset"), RetryLater("slow down", 7.0), AccessDenied("expired")))
        world.cloud.fail(random.choice(CALLS), Fault(error, takes_effect=random.random() < 0.5))
    elif chance < 0.43:
        world.cloud.fail("create", Fault(NoCapacity("none are left")))
    elif chance < 0.5:
        world.lead.is_away = not world.lead.is_away
    elif chance < 0.51:
        world.cloud.take_nodes(f"mcb-{label_of(burst)}", random.randint(1, 2))
    elif chance < 0.53:
        try:
            await stop(world.user_ledger, burst)
        except BurstUnknown:
            return


def _check_now(world: World, seed: int) -> None:
    there = Counter(each.burst for each in world.cloud.there() if each.key.kind == NODES)
    assert all(count == 1 for count in there.values()), f"seed {seed}: doubled: {there}"
    assert all(job.runs <= 1 for job in world.lead.jobs.values()), f"seed {seed}: a job has run twice"


async def _check_end(world: World, seed: int) -> None:
    found = (await world.bursts())[-1]
    lines = "\n".join(await world.lines(found.id))
    assert found.state == "deleted", f"seed {seed}: {found.state}\n{lines}"
    assert world.cloud.there() == [], f"seed {seed}: left: {world.cloud.there()}\n{lines}"
    try:
        await check_money(world)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n{lines}") from None
    stranded = [job for job in world.lead.jobs.values() if job.queue == "burst-0"]
    assert stranded == [], f"seed {seed}: {stranded}\n{lines}"
