"""Isolated bursts that are canceled, stopped and lost: the job runs once at most, and its user reads why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from burst.asked import stop
from burst.providers.memory import NODES, PODS
from tests.burst.life.isolated_world import IsolatedWorld, lived
from tests.burst.life.model_stand_ins import STOOD_IN
from tests.burst.life.world import ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.life.model_remote import ModelRemoteJob


async def _running(world: IsolatedWorld, seconds: float = 1000.0) -> str:
    """Have a job run elsewhere; return its burst's label."""
    await world.request(3, seconds=seconds)
    await world.run(until="active")
    await _until(world, lambda: any(job.ends for job in _remote(world)))
    return (await world.bursts())[-1].label


async def _joining(world: IsolatedWorld) -> None:
    """Have a burst whose instance does not answer yet."""
    world.remotes.is_away = True
    await world.request(3)
    await world.run(until="joining")
    world.remotes.is_away = False


async def _until(world: IsolatedWorld, condition: Callable[[], bool]) -> None:
    for _ in range(20):
        if condition():
            return
        await world.tick()
    raise AssertionError("it did not come")


def _remote(world: IsolatedWorld) -> list[ModelRemoteJob]:
    return [job for remote in world.remotes.by_label.values() for job in remote.jobs]


def test_a_job_that_is_canceled_here_ends_there() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        label = await _running(world)
        world.standing.cancel(label)
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("stopped", "somebody canceled its job")
        assert [job.is_canceled for job in _remote(world)] == [True]
        assert world.runs() == 0

    lived(scenario)


@pytest.mark.parametrize("why", ["stopped", "expired"])
def test_a_burst_that_ends_early_ends_its_job_in_words(why: str) -> None:
    async def scenario(world: IsolatedWorld) -> None:
        label = await _running(world)
        if why == "stopped":
            await stop(world.user_ledger, (await world.bursts())[-1].id)
        outcome, reason = await ended(world)
        assert (outcome, reason) == (
            why,
            {"stopped": "somebody stopped it", "expired": "its time is over"}[why],
        )
        end = world.standing.by_label[label].end
        assert end is not None
        assert (end.status, end.note) == (1 << 8, f"{reason}: burst {label} is over")
        assert [job.is_canceled for job in _remote(world)] == [True]

    lived(scenario)


def test_a_stand_in_that_was_killed_gets_a_successor() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        label = await _running(world, seconds=30.0)
        world.standing.kill(label)
        await world.run()
        await world.check()
        assert len(world.standing.by_label[label].jobs) == 2

    lived(scenario)


@pytest.mark.parametrize("may", [True, False])
def test_a_job_whose_instance_was_lost_begins_anew_if_it_may(may: bool) -> None:
    async def scenario(world: IsolatedWorld) -> None:
        world.standing.may_restart = may
        label = await _running(world)
        [pods] = [each.key for each in world.cloud.there() if each.key.kind == PODS]
        world.cloud.take_away(pods.name)
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", f"pods {pods.name} is absent")
        [job] = await world.jobs((await world.bursts())[-1].id)
        end = world.standing.by_label[label].end
        if may:
            assert (job.outcome, world.lead.jobs[1].queue, end) == ("begun anew as ƒ1", "default", None)
        else:
            assert job.outcome == "lost: it is not to be started again"
            assert end is not None
            assert (end.status, end.note) == (1 << 8, f"burst {label}: pods {pods.name} is absent")

    lived(scenario)


def test_an_instance_that_has_begun_anew_gets_the_job_no_second_time() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        label = await _running(world)
        remote = world.remotes.by_label[label]
        remote.jobs, remote.instance = [], "there-2"
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "its instance has begun anew, and does not know its job")
        assert remote.jobs == []

    lived(scenario)


def test_an_instance_that_does_not_answer_is_given_up() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _running(world)
        world.remotes.is_away = True
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "its instance did not answer for 20s")
        assert world.lead.jobs[1].queue == "default"

    lived(scenario)


def test_a_job_that_cannot_leave_stays_as_it_is() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _joining(world)
        world.lead.jobs[1].runs = 1  # it has run here meanwhile
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("succeeded", "it has nothing to do: it has started")
        assert (_remote(world), world.standing.by_label) == ([], {})

    lived(scenario)


def test_a_job_that_is_refused_elsewhere_has_failed() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        world.remotes.refusal = "unsatisfiable request"
        await world.request(3)
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "its job is refused elsewhere: unsatisfiable request")
        [standing] = world.standing.by_label.values()
        assert standing.end is not None
        assert standing.end.status == 1 << 8
        assert "unsatisfiable request" in standing.end.note

    lived(scenario)


def test_output_that_the_lead_does_not_take_ends_the_job() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        world.standing._most = 150
        await world.request(3)
        outcome, reason = await ended(world)
        assert outcome == "failed"
        assert reason == "what its job wrote is not taken: stdout: more than 150 bytes"

    lived(scenario)


def test_a_lead_without_room_gets_the_output_later() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _running(world, seconds=30.0)
        world.standing.is_full = True
        for _ in range(10):
            await world.tick()
        assert [each.state for each in await world.bursts()] == ["active"]
        world.standing.is_full = False
        await world.run()
        await world.check()

    lived(scenario)


def test_a_lead_that_has_begun_anew_gets_no_stand_in() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _joining(world)
        world.lead.instance = "instance-2"
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "the lead has begun anew, and does not know its jobs")
        assert world.standing.by_label == {}

    lived(scenario)


def test_a_lead_that_was_restarted_with_its_stand_ins_goes_on() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _running(world, seconds=60.0)
        world.lead.is_away = True
        for _ in range(4):
            await world.tick()
        world.lead.is_away, world.lead.instance = False, "instance-2"
        await world.run()
        await world.check()

    lived(scenario)


def test_a_burst_without_a_lead_ends() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _running(world)
        world.lead.is_gone = True
        outcome, reason = await ended(world)
        assert (outcome, reason) == ("failed", "its MiniCluster is gone")

    lived(scenario)


def test_nodes_that_are_lost_before_the_job_leaves_leave_it_here() -> None:
    async def scenario(world: IsolatedWorld) -> None:
        await _joining(world)
        [nodes] = [each.key for each in world.cloud.there() if each.key.kind == NODES]
        world.cloud.take_away(nodes.name)
        outcome, _ = await ended(world)
        assert outcome == "failed"
        assert world.lead.jobs[1].queue != STOOD_IN

    lived(scenario)
