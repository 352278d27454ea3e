"""Every fault over every cloud: one burst's life each, and what has to come of it.

Whatever happens, nothing is left, nothing is doubled, each job runs once, and the cloud's own bill is what
the ledger has charged.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from burst.rehearsal.cloud import CloudFault
from tests.burst.proofs import cloud_rights, cloud_rigs, cloud_world
from tests.burst.proofs.facts import Facts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from burst.lifecycle.records import BurstRecord
    from tests.burst.proofs.cloud_rigs import CloudRig
    from tests.burst.proofs.cloud_world import CloudWorld

SUCCEEDED, FAILED = "succeeded", "failed"
F = CloudFault


@dataclass(frozen=True, slots=True)
class FaultCase:
    """A fault, and what has to come of it."""

    begin: Callable[[CloudWorld], None]
    """Orders it before anything is made."""
    outcome: str
    reason: str = ""
    """A regular expression of the reason with which the burst ends."""
    amid: Callable[[CloudWorld], None] | None = None
    """Orders it while jobs run."""
    least: float = 0.0
    """Seconds that the burst takes at least."""
    begun_again: int = 0
    """How many calls create something at least: the fault has been met."""


def _create(*faults: CloudFault, after: float = 0.0) -> Callable[[CloudWorld], None]:
    return lambda world: world.rig.found.cloud.order(world.rig.calls.create, *faults, after=after)


def _delete(*faults: CloudFault) -> Callable[[CloudWorld], None]:
    return lambda world: world.rig.found.cloud.order(world.rig.calls.delete, *faults)


def _reads(*faults: CloudFault) -> Callable[[CloudWorld], None]:
    def order(world: CloudWorld) -> None:
        for call in world.rig.calls.reads:
            world.rig.found.cloud.order(call, *faults, after=10.0)

    return order


def _all(*faults: CloudFault) -> Callable[[CloudWorld], None]:
    """Return what has every call meet these faults."""

    def order(world: CloudWorld) -> None:
        for call in (world.rig.calls.create, world.rig.calls.delete, *world.rig.calls.reads):
            world.rig.found.cloud.order(call, *faults)

    return order


def _quota(world: CloudWorld) -> None:
    world.rig.found.cloud.quota = 2


def _stock(world: CloudWorld) -> None:
    world.rig.found.cloud.capacity["m4"] = 2


def _taken(world: CloudWorld) -> None:
    """Have the cloud take a machine away, as spot ones are."""
    world.rig.found.cloud.end(world.rig.found.machines(world.label)[-1:])


def _slow(world: CloudWorld) -> None:
    world.rig.found.cloud.coming = 1000.0


def _nothing(_world: CloudWorld) -> None:
    pass


CASES: dict[str, FaultCase] = {
    "nothing": FaultCase(_nothing, SUCCEEDED),
    "quota at once": FaultCase(_quota, FAILED, "2|quota|limit|more"),
    "a quota that the call meets": FaultCase(_create(F.QUOTA), FAILED, "(?i)quota|nodegroups|more"),
    "no machines": FaultCase(_create(F.NO_CAPACITY), FAILED),
    "stock-out after part of the nodes": FaultCase(_create(F.PART), FAILED),
    "a zone with fewer machines": FaultCase(_stock, FAILED),
    "created, and never ready": FaultCase(_create(F.BROKEN), FAILED),
    "created too late": FaultCase(_slow, FAILED, "its resources were not ready in "),
    "answer of the creation lost": FaultCase(_create(F.ANSWER_LOST), SUCCEEDED),
    "creation throttled": FaultCase(_create(F.THROTTLED, after=30.0), SUCCEEDED, least=30.0, begun_again=2),
    "unavailable at the creation": FaultCase(_create(F.UNAVAILABLE, F.UNAVAILABLE), SUCCEEDED, begun_again=3),
    "credentials expired at the creation": FaultCase(_create(F.DENIED), FAILED),
    "reads throttled": FaultCase(_reads(F.THROTTLED), SUCCEEDED, least=10.0),
    "credentials expired amid": FaultCase(_nothing, SUCCEEDED, amid=_all(F.DENIED, F.DENIED, F.DENIED)),
    "unavailable amid": FaultCase(_nothing, SUCCEEDED, amid=_all(F.UNAVAILABLE, F.UNAVAILABLE)),
    "answers lost amid": FaultCase(_nothing, SUCCEEDED, amid=_all(F.ANSWER_LOST, F.ANSWER_LOST)),
    "deletion fails three times": FaultCase(_delete(F.FAILS, F.FAILS, F.FAILS), SUCCEEDED),
    # Compute Engine ends an instance when its burst should, whatever its deletion does.
    "deletion hangs for an hour": FaultCase(_delete(F.HANGS), SUCCEEDED, least=300.0),
    "deletion lies": FaultCase(_delete(F.LIES), SUCCEEDED),
    "answer of the deletion lost": FaultCase(_delete(F.ANSWER_LOST), SUCCEEDED),
    "a machine is taken away": FaultCase(_nothing, FAILED, amid=_taken),
}
"""By name."""
LAGS = (0.0, 20.0)


async def life(rig: CloudRig, case: FaultCase, lag: float = 0.0) -> None:
    """Let a burst live with a fault. Raises AssertionError."""
    rig.clear(coming=10.0, going=10.0, lag=lag)
    async with cloud_world.opened(rig) as world:
        begun = rig.clock.now
        case.begin(world)
        try:
            await world.request(3, 4, seconds=60.0 if case.amid else 20.0)
            await _lived(world, case)
            found = await _over(world)
            assert found.outcome == case.outcome, f"{found.outcome}: {found.reason}"
            assert re.search(case.reason, found.reason), found.reason
            # Compute Engine ends by itself what was to run for so long, also where its deletion hangs.
            most = found.until - begun if rig.name == "compute-engine" else case.least
            assert rig.clock.now - begun >= min(case.least, most)
            assert rig.found.cloud.calls.count(rig.calls.create) >= case.begun_again
            unmet = [call for call, left in rig.found.cloud.faults.items() if left]
            assert case.outcome == FAILED or not unmet or case.amid, f"not met: {unmet}"
            await world.check_end()
        except Exception as error:
            raise AssertionError(f"{error!r}\n{await world.lines()}") from error


async def _lived(world: CloudWorld, case: FaultCase) -> None:
    if case.amid is None:
        return
    for _ in range(100):
        found = await world.tick()
        world.check_now()
        if found.state == "active" and _is_running(world):
            case.amid(world)
            return
    raise AssertionError(f"it is {found.state}, and no job runs")


def _is_running(world: CloudWorld) -> bool:
    return any(job.is_running for job in world.instance.jobs.values())


async def _over(world: CloudWorld) -> BurstRecord:
    for _ in range(400):
        found = await world.tick()
        world.check_now()
        if found.state == "deleted":
            return found
    raise AssertionError(f"it is {found.state}")


async def other_names(rig: CloudRig, _case: FaultCase | None = None, lag: float = 0.0) -> None:
    """Something of somebody else's has our name: it is never touched, and the burst fails."""
    rig.clear(coming=10.0, going=10.0, lag=lag)
    async with cloud_world.opened(rig) as world:
        await world.request(3, seconds=20.0)
        wanted = world.context.wanted(await world.burst())
        key = rig.found.provider.resources(wanted)[0]
        rig.occupy(key.name)
        found = await _over(world)
        assert found.outcome == FAILED, f"{found.outcome}: {found.reason}"
        # Where listings lag it is the cloud that refuses the name.
        assert re.search("is there, and not of this burst|already exists", found.reason), found.reason
        cloud = rig.found.cloud
        left = [each.ended for each in cloud.machines] or [each.gone for each in cloud.groups]
        assert left == [None]
        assert await world.spent() == 0


async def pages(rig: CloudRig, _case: FaultCase | None = None, lag: float = 0.0) -> None:
    """A listing of seven bursts comes in pages, and none of it is missed."""
    rig.clear(coming=10.0, going=10.0, lag=lag)
    async with cloud_world.opened(rig) as world:
        await world.request(3, seconds=20.0)
        wanted = world.context.wanted(await world.burst())
        many = [wanted._replace(label=f"{number}page{lag:.0f}", nodes=1) for number in range(7)]
        for each in many:
            key = rig.found.provider.resources(each)[0]
            rig.found.provider.create(key, f"token-{each.label}", each)
            rig.clock.now += 15.0  # GKE makes one after the other
        rig.clock.now += lag
        listed = [each.burst for each in rig.found.provider.owned("here")]
        assert sorted(listed) == sorted(each.label for each in many), listed
        for each in many:
            rig.found.provider.delete(rig.found.provider.resources(each)[0], each)
            rig.clock.now += 15.0


SPECIAL: dict[str, Callable[[CloudRig, FaultCase | None, float], Awaitable[None]]] = {
    "something else under our name": other_names,
    "a listing in pages": pages,
}


async def prove_one(rig: CloudRig, name: str, lag: float) -> str:
    """Prove one fault over one cloud; return what is wrong, empty if all is well."""
    try:
        if name in SPECIAL:
            await SPECIAL[name](rig, None, lag)
        else:
            await life(rig, CASES[name], lag)
    except Exception as error:  # noqa: BLE001 - it is reported, and the others go on
        return f"{rig.name}, lag {lag:g}: {name}: {error}"
    return ""


def prove(facts: Facts, cloud: str, lags: Iterable[float] = LAGS) -> None:
    """Prove all faults over one cloud, and that its policy allows what they call, and nothing else."""
    called: set[str] = set()

    async def work(rig: CloudRig) -> list[str]:
        found = []
        for lag in lags:
            for name in (*CASES, *SPECIAL):
                found.append(await prove_one(rig, name, lag))
                called.update(rig.found.cloud.calls)
        return found

    with cloud_rigs.opened(cloud) as rig:
        found = asyncio.run(work(rig))
        called |= cloud_rights.preflight(rig)
    if cloud in cloud_rights.POLICIES:
        for each in cloud_rights.wrong(cloud, called):
            facts.holds(False, each)
    for each in filter(None, found):
        facts.holds(False, each)
    facts.figure(f"{cloud}: {sum(not each for each in found)} of {len(found)} faults end as they should")


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clouds", nargs="*", default=list(cloud_rigs.SETTINGS))
    facts = Facts("every fault over every cloud")
    for each in parser.parse_args().clouds:
        prove(facts, each)
    facts.end()


if __name__ == "__main__":
    main()
