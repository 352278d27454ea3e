"""What no burst has is found and deleted, and nothing else is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from burst.errors import AccessDenied
from burst.ledger import locations
from burst.lifecycle.records import ResourceKey
from burst.providers.memory import NODES, Fault
from burst.providers.provider import WantedBurst
from burst.sweep import EXPIRED_SECONDS, OPEN, ORPHAN_SECONDS, SweepReport, sweep
from tests.burst.life.world import World, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


def swept(scenario: Callable[[World], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario in a world with a service."""

    async def work() -> Any:
        async with opened() as world:
            await world.tick()
            return await scenario(world)

    return asyncio.run(work())


def leave(world: World, name: str, installation: str = "here", until: float = 0.0) -> None:
    """Make something that no burst has."""
    wanted = WantedBurst(name, installation, 1, "c8", spot=False, until=until)
    world.cloud.add(ResourceKey(NODES, name, 1), wanted, 0)


def actions(report: SweepReport) -> list[tuple[str, str]]:
    return [(each.status.key.name, each.action) for each in report.orphans]


def test_what_no_burst_has_is_deleted_once_it_is_old_enough() -> None:
    async def scenario(world: World) -> None:
        leave(world, "mcb-lost")
        assert actions(await sweep(world.context)) == [("mcb-lost", "young")]
        world.now += ORPHAN_SECONDS
        assert actions(await sweep(world.context, is_dry=True)) == [("mcb-lost", "would be deleted")]
        assert actions(await sweep(world.context)) == [("mcb-lost", "deleted")]
        assert actions(await sweep(world.context)) == [("mcb-lost", "going")]
        world.now += 10.0
        assert actions(await sweep(world.context)) == []
        assert world.cloud.there() == []

    swept(scenario)


def test_what_another_installation_has_is_never_touched() -> None:
    async def scenario(world: World) -> None:
        leave(world, "mcb-other", "there")
        world.now += 10 * ORPHAN_SECONDS
        assert actions(await sweep(world.context)) == []
        assert len(world.cloud.there()) == 1

    swept(scenario)


def test_what_another_installation_has_is_deleted_by_its_id_alone() -> None:
    """The service, which never comes back, had made it where the settings of this one lead."""

    async def scenario(world: World) -> None:
        leave(world, "mcb-other", "there")
        leave(world, "mcb-third", "elsewhere")
        await world.request(3, seconds=1000.0)
        await world.run(until="active")
        world.now += 2 * ORPHAN_SECONDS
        before = await world.context.ledger.read(locations.used)
        report = await sweep(world.context, "there", is_dry=True, has_open=True)
        assert actions(report) == [("mcb-other", "would be deleted")]
        assert actions(await sweep(world.context, "there", has_open=True)) == [("mcb-other", "deleted")]
        world.now += 10.0
        assert actions(await sweep(world.context, "there", has_open=True)) == []
        assert await world.context.ledger.read(locations.used) == before
        assert actions(await sweep(world.context, "here")) == []
        assert "mcb-third" in {each.key.name for each in world.cloud.there()}

    swept(scenario)


def test_what_a_burst_has_is_left_to_it() -> None:
    async def scenario(world: World) -> None:
        await world.request(3, seconds=1000.0)
        await world.run(until="active")
        world.now += 2 * ORPHAN_SECONDS
        assert actions(await sweep(world.context)) == []

    swept(scenario)


def test_a_ledger_that_was_lost_leaves_nothing_behind() -> None:
    """Another one, which has the installation's id, finds everything by its labels."""

    async def scenario(world: World) -> None:
        await world.request(3, seconds=1000.0)
        await world.run(until="active")
        async with opened() as other:
            other.cloud = world.cloud
            other.now = world.now + ORPHAN_SECONDS
            other.begin()
            world.now = other.now
            await other.service.tick()
            assert other.service.report is not None
            assert sorted(action for _, action in actions(other.service.report)) == ["deleted", "deleted"]

    swept(scenario)


def test_a_location_that_cannot_be_listed_is_named() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.run()
        world.cloud.fail("list", Fault(AccessDenied("the token has expired")))
        report = await sweep(world.context)
        assert report.unswept == ("memory in memory-1: the token has expired",)
        providers: Any = world.context.providers
        del providers["memory"]
        report = await sweep(world.context)
        assert report.unswept == ("memory in memory-1: the settings do not have it any more",)

    swept(scenario)


def test_an_orphan_that_cannot_be_deleted_is_named_and_tried_again() -> None:
    async def scenario(world: World) -> None:
        leave(world, "mcb-lost")
        world.now += ORPHAN_SECONDS
        world.cloud.fail("delete", Fault(AccessDenied("no right to delete")))
        assert actions(await sweep(world.context)) == [("mcb-lost", "not deleted: no right to delete")]
        assert actions(await sweep(world.context)) == [("mcb-lost", "deleted")]

    swept(scenario)


def test_since_when_a_location_is_empty_is_remembered() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.run()
        [found] = await world.ledger.read(locations.used)
        assert (found.provider, found.location) == ("memory", "memory-1")
        await sweep(world.context)
        [empty] = await world.ledger.read(locations.used)
        assert empty.empty_since is not None
        world.now += 60.0
        await sweep(world.context)
        assert await world.ledger.read(locations.used) == [empty]
        leave(world, "mcb-lost")
        await sweep(world.context)
        [used] = await world.ledger.read(locations.used)
        assert used.empty_since is None

    swept(scenario)


def test_of_an_installation_whose_service_may_live_only_what_is_past_its_end_is_deleted() -> None:
    """As a machine elsewhere does it from time to time: that is what ends what a cloud never ends."""

    async def scenario(world: World) -> None:
        leave(world, "mcb-open", "there", until=world.now + 3600.0)
        leave(world, "mcb-over", "there", until=world.now + 60.0)
        leave(world, "mcb-endless", "there")
        leave(world, "mcb-other", "elsewhere", until=world.now + 60.0)
        world.now += 60.0 + EXPIRED_SECONDS - 1.0
        assert actions(await sweep(world.context, "there", is_expired=True)) == []
        world.now += 1.0
        report = await sweep(world.context, "there", is_dry=True, is_expired=True)
        assert actions(report) == [("mcb-over", "would be deleted")]
        assert actions(await sweep(world.context, "there", is_expired=True)) == [("mcb-over", "deleted")]
        world.now += 10.0
        assert actions(await sweep(world.context, "there", is_expired=True)) == []
        assert len(world.cloud.there()) == 3

    swept(scenario)


def test_what_another_service_may_use_is_deleted_only_with_an_option() -> None:
    async def scenario(world: World) -> None:
        leave(world, "mcb-open", "there", until=world.now + 3600.0)
        leave(world, "mcb-over", "there", until=world.now + 60.0)
        world.now += 60.0 + EXPIRED_SECONDS
        found = [("mcb-open", OPEN), ("mcb-over", "would be deleted")]
        assert actions(await sweep(world.context, "there", is_dry=True)) == found
        assert actions(await sweep(world.context, "there")) == [("mcb-open", OPEN), ("mcb-over", "deleted")]
        world.now += 10.0
        assert [each.key.name for each in world.cloud.there()] == ["mcb-open"]
        assert actions(await sweep(world.context, "there", has_open=True)) == [("mcb-open", "deleted")]

    swept(scenario)
