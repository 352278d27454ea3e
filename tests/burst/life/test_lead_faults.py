"""Bursts that are stopped, leads that do not answer, jobs that run too long, and two services."""

from __future__ import annotations

import pytest

from burst.asked import stop
from burst.errors import BurstUnknown, LeaseLost
from burst.providers.memory import PODS
from tests.burst.life.world import World, ended, lived


@pytest.mark.parametrize("state", ["requested", "provisioning", "joining", "active"])
def test_somebody_stops_it(state: str) -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, 4)
        if state == "joining":
            world.lead.wrong = {}
            world.lead.is_away = True
        if state != "requested":
            await world.run(until=state)
        await stop(world.ledger, burst)
        world.lead.is_away = False
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("stopped", "somebody stopped it")
        assert {job.queue for job in world.lead.jobs.values()} <= {"default", "done"}
        assert world.lead.lost == []
        with pytest.raises(BurstUnknown, match=r"burst .{10} is deleted already"):
            await stop(world.ledger, burst)
        with pytest.raises(BurstUnknown, match="there is no burst 'nope'"):
            await stop(world.ledger, "nope")

    lived(scenario)


@pytest.mark.parametrize("state", ["requested", "active"])
def test_those_of_a_minicluster_that_is_being_deleted_are_stopped(state: str) -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3)
        if state != "requested":
            await world.run(until=state)
        world.is_ending = True
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("stopped", "somebody stopped it")
        assert (await world.lines(burst)).count("its MiniCluster is being deleted") == 1
        assert world.lead.lost == []

    lived(scenario)


def test_jobs_that_run_too_long_begin_anew_elsewhere() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, seconds=1000.0)
        outcome, _ = await ended(world)
        assert outcome == "expired"
        [job] = await world.jobs(burst)
        assert job.outcome == "restarted"
        assert (world.lead.jobs[1].queue, world.lead.lost) == ("default", [])

    lived(scenario)


def test_jobs_whose_nodes_are_lost_begin_anew_once_nothing_of_them_is_left() -> None:
    """The lead does not answer for a while meanwhile: that is waited for."""

    async def scenario(world: World) -> None:
        burst = await world.request(3, seconds=1000.0)
        await world.run(until="active")
        while world.lead.jobs[1].ends is None:
            await world.tick()
        [pods] = [each.key for each in world.cloud.there() if each.key.kind == PODS]
        world.cloud.remove(pods)
        await world.run(until="deleting")
        world.lead.is_away = True
        for _ in range(20):
            await world.tick()
        [found] = await world.bursts()
        assert (found.state, world.cloud.there()) == ("deleting", [])
        assert (world.lead.lost, world.lead.jobs[1].queue) == ([1], "failed")
        world.lead.is_away = False
        await world.run(until="deleted")
        assert [job.outcome for job in await world.jobs(burst)] == ["begun anew"]
        assert world.lead.jobs[1].queue == "default"
        assert "1 job: begun anew" in await world.lines(burst)

    lived(scenario)


def test_a_lead_that_never_answers_again_keeps_no_slot() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, seconds=1000.0)
        await world.run(until="active")
        world.lead.is_away = True
        await world.run(until="deleted")
        assert [job.outcome for job in await world.jobs(burst)] == [""]

    lived(scenario)


def test_a_job_that_started_here_meanwhile_stays_here() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, 4)
        world.lead.is_away = True
        await world.run(until="joining")
        world.lead.is_away = False
        world.lead.jobs[1].ends, world.lead.jobs[1].where = world.now + 40.0, "default"
        await ended(world)
        jobs = await world.jobs(burst)
        assert [job.outcome for job in jobs] == ["update of queue for running job not supported", "completed"]
        await world.check()

    lived(scenario)


def test_a_rank_on_which_jobs_do_not_run_gets_none() -> None:
    async def scenario(world: World) -> None:
        world.lead.wrong = {1: "header userid 0 != real 1000"}
        await world.request(3)
        reason = "jobs do not run on rank 1: header userid 0 != real 1000"
        assert await ended(world) == ("failed", reason)
        assert [job.queue for job in world.lead.jobs.values()] == ["default"]
        assert not world.lead.started["burst-0"]

    lived(scenario)


def test_nodes_that_never_join_are_given_up() -> None:
    async def scenario(world: World) -> None:
        world.lead._size = 1
        await world.request(3)
        assert await ended(world) == ("failed", "1 of 3 nodes joined in 1m")

    lived(scenario)


def test_a_lead_that_does_not_answer_for_a_while_is_waited_for() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.run(until="active")
        world.lead.is_away = True
        for _ in range(5):
            await world.tick()
        assert (await world.bursts())[0].state == "active"
        world.lead.is_away = False
        assert await ended(world) == ("succeeded", "it has nothing to do")
        await world.check()

    lived(scenario)


def test_a_lead_that_never_answers_again_keeps_nothing_alive() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.run(until="active")
        world.lead.is_away = True
        assert await ended(world) == ("expired", "its time is over")
        lines = await world.lines((await world.bursts())[0].id)
        assert "deleting: jobs ran on after 1m" in lines

    lived(scenario)


def test_a_lead_that_answers_again_late_gets_its_waiting_jobs_back() -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, 4, seconds=1000.0)
        await world.run(until="active")
        world.lead.is_away = True
        await world.run(until="deleting")
        assert world.lead.started["burst-0"]
        world.lead.is_away = False
        await ended(world)
        assert not world.lead.started["burst-0"]
        assert world.lead.jobs[2].queue == "default"
        assert (await world.jobs(burst))[1].outcome == "returned"

    lived(scenario)


@pytest.mark.parametrize("state", ["joining", "active", "draining"])
def test_a_lead_that_begins_anew_has_none_of_its_jobs(state: str) -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, seconds=200.0)
        if state == "joining":
            world.lead.is_away = True
        await world.run(until="active" if state == "draining" else state)
        if state == "draining":
            await stop(world.ledger, burst)
            await world.run(until="draining")
        world.lead.is_away = False
        world.lead.instance = "instance-2"
        _, reason = await ended(world)
        if state != "draining":
            assert reason == "the lead has begun anew, and does not know its jobs"

    lived(scenario)


def test_ranks_that_do_not_answer_are_given_up() -> None:
    """Behind a proxy that still acknowledges, Flux keeps their jobs for ever."""

    async def scenario(world: World) -> None:
        await world.request(3, seconds=1000.0)
        await world.run(until="active")
        world.lead.unresponsive = {0: world.now, 2: world.now}
        for _ in range(8):
            await world.tick()
        assert (await world.bursts())[0].state == "active"
        world.lead.unresponsive[1] = world.now
        assert await ended(world) == ("failed", "none of its ranks answered for 20s")

    lived(scenario)


def test_jobs_that_come_while_it_is_idle_keep_it() -> None:
    async def scenario(world: World) -> None:
        await world.request(3, seconds=5.0)
        while (await world.bursts())[0].idle_since is None:
            await world.tick()
        late = world.lead.submit(2, 5.0)
        world.lead.jobs[late].queue = "burst-0"  # by hand
        await ended(world)
        await world.check()
        assert "it has jobs again" in await world.lines((await world.bursts())[0].id)

    lived(scenario)


@pytest.mark.parametrize("state", ["provisioning", "joining", "active", "draining"])
def test_a_burst_ends_at_once_when_its_minicluster_is_gone(state: str) -> None:
    async def scenario(world: World) -> None:
        burst = await world.request(3, seconds=1000.0)
        if state == "draining":
            await world.run(until="active")
            await stop(world.ledger, burst)
        world.lead.is_away = state == "joining"
        await world.run(until=state)
        world.lead.is_gone, begun = True, world.now
        assert await ended(world) == (
            "stopped" if state == "draining" else "failed",
            "somebody stopped it" if state == "draining" else "its MiniCluster is gone",
        )
        assert world.now - begun < 60.0
        assert world.cloud.there() == []

    lived(scenario)


def test_of_two_services_one_does_the_work() -> None:
    async def scenario(world: World) -> None:
        await world.request(3)
        await world.tick()
        first, ledger = world.service, world.ledger
        world.begin()
        with pytest.raises(LeaseLost, match="service-1 advances bursts"):
            await world.service.tick()
        world.now += 20.0
        await world.service.tick()
        with pytest.raises(LeaseLost, match="service-2 advances bursts"):
            await first.tick()
        burst = (await world.bursts())[0].id
        with pytest.raises(LeaseLost, match="service-2 advances bursts"):
            await ledger.note(burst, "too late", reason="too late")
        assert "too late" not in await world.lines(burst)
        await ended(world)
        await world.check()

    lived(scenario)
