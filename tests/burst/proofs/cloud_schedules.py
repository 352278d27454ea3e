"""Random lives over clouds: services are killed, calls fail, answers are lost, listings lag, and more."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from burst.asked import stop
from burst.errors import BurstUnknown
from burst.rehearsal.cloud import CloudFault
from tests.burst.proofs import cloud_rigs, cloud_world
from tests.burst.proofs.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.burst.proofs.cloud_rigs import CloudRig
    from tests.burst.proofs.cloud_world import CloudWorld

MAX_TICKS = 600
DISTURBED = 40
"""So many ticks, from the first one on, have something happen."""
REFUSED = (CloudFault.UNAVAILABLE, CloudFault.THROTTLED, CloudFault.DENIED, CloudFault.ANSWER_LOST)
SHORT = (CloudFault.QUOTA, CloudFault.NO_CAPACITY, CloudFault.PART, CloudFault.BROKEN)
SLOW = (CloudFault.HANGS, CloudFault.LIES)
AT_ONCE = 20
"""Seeds of one part: of what a process does before it reports."""


async def run(rig: CloudRig, seed: int) -> str:
    """Let one burst live through a schedule; return its outcome. Raises AssertionError with the seed."""
    random = Random(seed)
    coming, going = (random.choice((0.0, 5.0, 30.0)) for _ in range(2))
    rig.clear(coming=coming, going=going, lag=random.choice((0.0, 0.0, 10.0, 60.0)))
    async with cloud_world.opened(rig) as world:
        jobs = [random.randint(3, 4) for _ in range(random.randint(1, 3))]
        seconds, spot = random.choice((1.0, 10.0, 40.0)), random.random() < 0.5
        burst = await world.request(*jobs, seconds=seconds, spot=spot)
        try:
            for tick in range(MAX_TICKS):
                if tick < DISTURBED:
                    await _disturb(world, random, burst)
                world.is_lead_away = world.is_lead_away and tick < DISTURBED
                found = await world.tick()
                world.check_now()
                if found.state == "deleted" and tick > DISTURBED:
                    break
            await world.check_end()
        except Exception as error:
            raise AssertionError(f"{rig.name}, seed {seed}: {error!r}\n{await world.lines()}") from error
        return str(found.outcome)


async def _disturb(world: CloudWorld, random: Random, burst: str) -> None:
    """Let something happen, sometimes."""
    chance, cloud, calls = random.random(), world.rig.found.cloud, world.rig.calls
    if chance < 0.25:
        way = random.choice(("before", "after", "lost"))
        world.meter.kill = (way, len(world.meter.names) + random.randint(1, 8))
    elif chance < 0.42:
        call = random.choice((calls.create, calls.delete, *calls.reads))
        cloud.order(call, random.choice(REFUSED), after=7.0)
    elif chance < 0.46:
        cloud.order(calls.create, random.choice(SHORT))
    elif chance < 0.49:
        cloud.order(calls.delete, CloudFault.FAILS)
    elif chance < 0.495:
        cloud.order(calls.delete, random.choice(SLOW))
    elif chance < 0.55:
        world.is_lead_away = not world.is_lead_away
    elif chance < 0.565:
        cloud.end(world.rig.found.machines(world.label)[-random.randint(1, 2) :])
    elif chance < 0.585:
        try:
            await stop(world.user_ledger, burst)
        except BurstUnknown:
            return


class PartResult(NamedTuple):
    """What came of some seeds."""

    outcomes: list[str]
    broken: list[str]


def run_part(name: str, first: int, number: int) -> PartResult:
    """Run some seeds over one cloud."""
    with cloud_rigs.opened(name) as rig:
        return asyncio.run(_part(rig, first, number))


async def _part(rig: CloudRig, first: int, number: int) -> PartResult:
    outcomes, broken = [], []
    for seed in range(first, first + number):
        try:
            outcomes.append(await run(rig, seed))
        except AssertionError as error:
            broken.append(str(error))
    return PartResult(outcomes, broken)


def prove(facts: Facts, name: str, seeds: int, processes: int) -> None:
    """Prove it for one cloud, and print how far it is."""
    begun, outcomes, parts = time.monotonic(), Counter[str](), list(_parts(seeds))
    with ProcessPoolExecutor(processes) as pool:
        running = [pool.submit(run_part, name, *each) for each in parts]
        for number, each in enumerate(running, 1):
            outcomes.update(each.result().outcomes)
            for words in each.result().broken:
                print(words, file=sys.stderr)
                facts.holds(False, words)
            if number % 10 == 0 or number == len(parts):
                seconds = time.monotonic() - begun
                print(f"{name}: {sum(outcomes.values())} of {seeds} after {seconds:.0f} s", file=sys.stderr)
    counted = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    facts.figure(f"{name}: {sum(outcomes.values())} of {seeds} schedules hold: {counted}")
    facts.holds({"succeeded", "failed"} <= outcomes.keys(), f"{name}: outcomes {dict(outcomes)}")


def _parts(seeds: int) -> Iterator[tuple[int, int]]:
    for first in range(0, seeds, AT_ONCE):
        yield first, min(AT_ONCE, seeds - first)


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="Of each cloud.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("clouds", nargs="*", default=list(cloud_rigs.SETTINGS))
    given = parser.parse_args()
    facts = Facts("random schedules over clouds")
    for name in given.clouds:
        prove(facts, name, given.seeds, given.processes)
    facts.end()


if __name__ == "__main__":
    main()
