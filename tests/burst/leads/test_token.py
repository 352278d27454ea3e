"""What a token for bursts is good for at a lead: exactly what bursting calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from burst.clusters.connections import LeadConnections
from burst.clusters.records import BurstingCluster
from burst.leads.stand_ins import StandIns
from minicluster.instance.errors import RequestRefused
from minicluster.instance.records import JobFilter, JobRequest, JobState
from minicluster.lead_server.purposes import BURST, PURPOSES, Purpose
from tests.burst.joining.near import near
from tests.conformance.laboratory import BY_LEAD, eventually

if TYPE_CHECKING:
    from minicluster.broker_link.link import JSON
    from minicluster.instance.port import Instance
    from tests.conformance.laboratory import Laboratory


@pytest.fixture
def asked(laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The topics that a lead's API is asked to pass on."""
    if laboratory.reached not in BY_LEAD:
        pytest.skip("no token is shown")
    found: set[str] = set()
    judge = Purpose.refusal

    def refusal(purpose: Purpose, topic: str, payload: JSON) -> str:
        found.add(topic)
        return judge(purpose, topic, payload)

    monkeypatch.setattr(Purpose, "refusal", refusal)
    return found


def submit(instance: Instance, *command: str, **wishes: Any) -> int:
    request = JobRequest(command, environment={"PATH": "/usr/bin:/bin"}, cwd="/", nodes=1, **wishes)
    return instance.jobs.submit(request)


async def stand_in(stand_ins: StandIns, label: str, job: int) -> None:
    """Let a job run elsewhere, to its end."""
    await stand_ins.stand_in(label, job)
    assert await stand_ins.write(label, "stdout", 0, b"x") == 1
    await stand_ins.finish(label, 0, "", "")
    found = await stand_ins.standing(label)
    while found is None or not found.is_over:
        await asyncio.sleep(0.05)
        found = await stand_ins.standing(label)


def test_it_may_call_what_bursting_calls_and_nothing_else(
    laboratory: Laboratory, asked: set[str], instance: Instance
) -> None:
    """A life of a burst, over a connection of its own."""
    unused: Any = None
    cluster = BurstingCluster("u", "mc", "default/mc", near(), laboratory.connect, lambda _: unused)
    connections = LeadConnections()
    connections.serve([cluster])
    lead, label = connections.lead("u"), "tokentoken"
    job = submit(instance, "sleep", "60", exclusive=True, duration=90.0, system={"burstable": True})
    waits = submit(instance, "true", dependencies=(f"afterok:{job}",))
    elsewhere = submit(instance, "true")
    asked.clear()

    async def live() -> None:
        found = await asyncio.to_thread(connections.ask, "u", lambda opened: opened.waiting.read())
        assert [each.job.id for each in found] == [job]
        await lead.view("burst-0", label)
        await lead.probe("burst-0", label, [0])
        view = await lead.view("burst-0", label)
        while not view.probes[0].done:
            view = await lead.view("burst-0", label)
        assert await lead.move([job], "burst-0") == {job: ""}
        await lead.start_queue("burst-0")
        while job not in (await lead.view("burst-0", label)).running:
            await asyncio.sleep(0.05)
        await lead.restart([job])
        await lead.close("burst-0", 1, "minicluster: burst tokentoken")
        await lead.probe("burst-0", f"{label}-2", [0])
        await stand_in(StandIns(connections.opened("u").instance), label, elsewhere)

    asyncio.run(live())
    connections.close()
    assert asked == PURPOSES[BURST].topics
    copies = instance.jobs.find(JobFilter(states=JobState.PENDING, queue="default"))
    assert len(copies) == 2
    assert waits not in {each.id for each in copies}


def test_what_is_not_its_business_is_refused_in_words(asked: set[str], instance: Instance) -> None:
    with pytest.raises(RequestRefused, match=r"a token for burst is not good for job-manager\.raiseall"):
        instance.jobs.cancel_all()
    with pytest.raises(RequestRefused, match="a token for burst is not good for the attribute 'hostlist'"):
        instance.links.rpc("attr.get", {"name": "hostlist"})
    assert asked >= {"job-manager.raiseall", "attr.get"}
    eventually(lambda: not instance.jobs.find(JobFilter(states=JobState.ACTIVE)), "there are no jobs")
