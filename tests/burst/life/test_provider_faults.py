"""What providers do wrong, and money that is not there: how a burst ends, and that nothing is left."""

from __future__ import annotations

from typing import Any

import pytest

from burst.advance.advance import is_stuck
from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, RetryLater
from burst.ledger import bursts
from burst.lifecycle.records import ResourceKey
from burst.planning import money
from burst.providers.memory import NODES, PODS, Fault
from burst.providers.provider import WantedBurst
from tests.burst.life.bill import check_money
from tests.burst.life.world import TICK, World, ended, lived


def test_a_burst_without_faults_succeeds() -> None:
    async def scenario(world: World) -> None:
        await world.request(3, 4)
        assert await ended(world) == ("succeeded", "it has nothing to do")
        assert {job.where for job in world.lead.jobs.values()} == {"burst-0"}
        await world.check()

    lived(scenario)


@pytest.mark.parametrize(
    "error",
    [
        AccountLimitReached("the account may have 0 nodes of c8"),
        AccessDenied("the token has expired"),
        CallInvalid("there is no machine c8"),
    ],
)
def test_what_a_provider_refuses_for_good_ends_the_burst(error: Exception) -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        world.cloud.fail("create", Fault(error))
        assert await ended(world) == ("failed", str(error))
        assert [job.queue for job in world.lead.jobs.values()] == ["default"]
        assert await world.spent() == 0

    lived(scenario)


def test_machines_that_are_not_there_end_the_burst() -> None:
    async def scenario(world: World) -> None:
        world.cloud.capacity["c8"] = 2
        await world.request(3)
        assert await ended(world) == ("failed", "there are no 3 nodes of c8 now")

    lived(scenario)


def test_what_cannot_be_served_now_is_tried_again() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        world.cloud.fail("create", Fault(RetryLater("slow down", after=12.0)), Fault(OSError("reset")))
        begun = world.now
        await ended(world)
        await world.check()
        lines = await world.lines((await world.bursts())[0].id)
        assert "provisioning, tried again later: slow down" in lines
        assert "provisioning, tried again later: OSError: reset" in lines
        assert world.cloud._made[0].created >= begun + 12.0

    lived(scenario)


def test_a_creation_whose_answer_was_lost_makes_nothing_twice() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        world.cloud.fail("create", Fault(ConnectionResetError("gone"), takes_effect=True))
        await ended(world)
        await world.check()

    lived(scenario)


def test_a_provider_that_is_never_reached_is_given_up() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        world.cloud.fail("get", *(Fault(OSError("no route")) for _ in range(8)))
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "its resources were not ready in 1m")

    lived(scenario)


@pytest.mark.parametrize("kind", [NODES, PODS])
def test_a_resource_that_never_becomes_ready_is_taken_away(kind: str) -> None:
    async def scenario(world: World) -> None:
        world.cloud.broken[kind] = "no addresses are left in the subnet"
        await world.request(3)
        outcome, reason = await ended(world)
        assert outcome == "failed"
        assert reason.endswith("is broken: no addresses are left in the subnet")
        await check_money(world)

    lived(scenario)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ([], "no way in: overlay.err[3]: no answer"),
        ([Fault(RetryLater("the API server is away"))], "no way in"),
        ([Fault(OSError("reset"))], "no way in"),
    ],
)
def test_what_brokers_wrote_is_in_the_reason_where_it_is_known(fault: list[Fault], expected: str) -> None:
    async def scenario(world: World) -> None:
        world.cloud.broken[PODS] = "no way in"
        world.cloud.broker_problem = "overlay.err[3]: no answer"
        world.cloud.fail("broker_problem", *fault)
        await world.request(3)
        _, reason = await ended(world)
        assert reason.endswith(f" is broken: {expected}")

    lived(scenario)


def test_a_resource_that_takes_too_long_is_taken_away() -> None:
    async def scenario(world: World) -> None:
        world.cloud.coming = 1000.0
        await world.request(3)
        assert await ended(world) == ("failed", "its resources were not ready in 1m")

    lived(scenario)


def test_a_name_that_somebody_else_has_is_never_touched() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3)
        key = ResourceKey(NODES, f"mcb-{burst[-10:]}", 1)
        world.cloud.add(key, WantedBurst("other", "elsewhere", 1, "c8", spot=False, until=0.0), 0)
        found = await world.run()
        reason = f"nodes {key.name} is there, and not of this burst"
        assert (found.outcome, found.reason) == ("failed", reason)
        assert [each.installation for each in world.cloud.there()] == ["elsewhere"]

    lived(scenario)


def test_a_deletion_that_fails_is_tried_until_it_succeeds() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.run(until="deleting")
        refused = [Fault(AccessDenied("the token has expired")) for _ in range(3)]
        world.cloud.fail("delete", *refused, Fault(OSError("reset"), takes_effect=True))
        await ended(world)
        await world.check()

    lived(scenario)


def test_a_deletion_that_hangs_is_reported_and_goes_on_costing() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, 4)
        await world.run(until="deleting")
        reserved = await world.spent()
        world.cloud.going = 5000.0
        for _ in range(int(4000 / TICK)):
            await world.tick()
        [found] = await world.bursts()
        assert (found.state, is_stuck(world.context, found)) == ("deleting", True)
        assert reserved < world.cloud.bill() <= await world.spent() + money.cost(3_600_000, 4, TICK)
        await ended(world, most=500)
        two_ticks = money.cost(3_600_000, 4, 2 * TICK)
        assert await world.spent() == pytest.approx(world.cloud.bill(), abs=two_ticks)
        assert (await world.lines(burst))[-1].startswith("deleted: it has cost ")

    lived(scenario)


def test_listings_that_lag_delay_the_end_alone() -> None:
    async def scenario(world: World) -> None:
        world.cloud.lag = 60.0
        await world.request(3)
        await ended(world)
        await world.check()

    lived(scenario)


def test_what_appears_after_the_first_empty_listing_is_deleted_as_well() -> None:
    """The effect of a call comes late: between the two listings that have to have nothing."""

    async def scenario(world: World) -> None:
        burst = await world.request(3)
        while (found := (await world.bursts())[-1]).empty_since is None:
            await world.tick()
        late = ResourceKey(PODS, f"mcb-{burst[-10:]}-late")
        world.cloud.add(late, world.context.wanted(found), 0)
        await ended(world)
        lines = await world.lines(burst)
        assert lines[-4:-2] == ["its provider lists something of it", "its provider lists nothing of it"]
        assert lines[-2] == "1 job: completed"

    lived(scenario)


def test_a_budget_is_spent_once() -> None:
    """Two bursts are asked for; there is money for one."""

    async def scenario(world: World) -> None:
        first = await world.request(4)
        [found] = await world.bursts()
        world.limits = {"all": found.amounts["all"] * 3 // 2}
        await world.run(until="active")
        second = await world.request(4)
        await world.tick()
        async with world.database.read() as connection:
            refused = await bursts.by_id(connection, second)
        assert (refused.state, refused.outcome) == ("deleted", "not-possible")
        assert refused.reason == f"slot burst-0 has burst {first[-10:]}, which is active"
        assert world.cloud.calls.count("create") == 2

    lived(scenario)


@pytest.mark.parametrize("scope", ["user:alice", "cluster:physics/mc"])
def test_a_burst_without_money_makes_nothing(scope: str) -> None:
    async def scenario(world: World) -> None:
        world.limits = {scope: 100_000}
        await world.request(4)
        outcome, reason = await ended(world)
        assert outcome == "not-possible"
        assert reason == f"budget {scope}: its burst may cost 1.20, and 0.10 is left"
        assert world.cloud.calls.count("create") == 0
        assert await world.spent() == 0

    lived(scenario)


def test_machines_that_are_taken_away_end_the_burst() -> None:
    async def scenario(world: World) -> None:
        await world.request(3, seconds=200.0)
        found = await world.run(until="active")
        world.cloud.take_away(f"mcb-{found.label}")
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", f"nodes mcb-{found.label} is absent")

    lived(scenario)


def test_a_burst_at_a_provider_that_is_not_there_is_not_possible() -> None:
    async def scenario(world: World) -> None:
        providers: Any = world.context.providers
        providers.clear()
        await world.request(3)
        assert await ended(world) == ("not-possible", "it was not reserved in 1m")
        assert await world.spent() == 0

    lived(scenario)


def test_a_provider_that_left_the_settings_keeps_the_burst_open() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3)
        await world.run(until="active")
        providers: Any = world.context.providers
        kept = providers.pop("memory")
        for _ in range(100):
            await world.tick()
        [found] = await world.bursts()
        assert found.state == "deleting"
        assert world.cloud.there() != []
        text = "the settings do not have provider memory in memory-1 any more: nothing of it is deleted"
        assert f"deleting, tried again later: {text}" in await world.lines(burst)
        providers["memory"] = kept
        await ended(world)

    lived(scenario)
