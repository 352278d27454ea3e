"""What bursting asks of a lead, over the port of an instance of either engine."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.jobid import f58
from burst.errors import LeadAway
from burst.leads.instance_lead import InstanceLead
from burst.leads.slot_ranks import SlotRanks
from burst.lifecycle.records import ProbeResult
from minicluster.instance.records import JobFilter, JobRequest, JobResult, JobState
from minicluster.save_restore.restarts import UNWANTED
from tests.conformance.laboratory import eventually

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from burst.lifecycle.records import SlotView
    from minicluster.instance.port import Instance
    from tests.conformance.laboratory import Laboratory

SLOT = SlotRanks(first=1, size=1, cores=1)
"""The laboratory says two cores; a machine of one runs these tests as well."""


def lead_of(instance: Instance, slot: SlotRanks = SLOT) -> InstanceLead:
    return InstanceLead(instance, {"burst-0": slot})


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


@pytest.fixture
def label(request: pytest.FixtureRequest) -> str:
    """The label of a burst that no other test has."""
    return f"{abs(hash(request.node.nodeid)) % 10**10:010}"


def view(lead: InstanceLead, label: str = "aaaaaaaaaa") -> SlotView:
    found: SlotView = run(lead.view("burst-0", label))
    return found


def submit(instance: Instance, *command: str, **wishes: Any) -> int:
    environment = {"PATH": os.defpath}
    return instance.jobs.submit(JobRequest(command or ("true",), environment=environment, cwd="/", **wishes))


def tried(lead: InstanceLead, label: str) -> SlotView:
    """Try the slot's rank, and return what is seen once that is over."""
    run(lead.probe("burst-0", label, [0]))
    eventually(lambda: view(lead, label).probes[0].done, "the rank was tried")
    return view(lead, label)


def host_of(instance: Instance, job: int) -> str:
    return instance.jobs.wait(job, 30).nodelist


def test_a_slot_that_nobody_uses(instance: Instance) -> None:
    found = view(lead_of(instance))
    assert (found.online, found.drained, found.started) == (frozenset({0}), frozenset(), False)
    assert (found.pending, found.running) == (frozenset(), frozenset())
    assert (found.probes, found.unresponsive) == ({}, {})
    assert found.instance == view(lead_of(instance)).instance != ""


def test_a_job_is_moved_there_and_back_and_runs_where_it_is(instance: Instance) -> None:
    lead, job = lead_of(instance), submit(instance, nodes=1, exclusive=True)
    assert run(lead.move([job], "burst-0")) == {job: ""}
    assert run(lead.move([job], "burst-0")) == {job: ""}
    assert view(lead).pending == {job}
    other = submit(instance, nodes=1, exclusive=True)
    run(lead.move([other], "burst-0"))
    run(lead.move([other], "default"))
    instance.queues.start()
    assert (host_of(instance, job), host_of(instance, other)) == ("mc-1", "mc-0")


def test_why_a_job_was_not_moved(instance: Instance) -> None:
    lead = lead_of(instance)
    instance.queues.start("default")
    ended, runs = submit(instance), submit(instance, "sleep", "60")
    instance.jobs.wait(ended, 30)
    eventually(lambda: instance.jobs.get(runs).state is JobState.RUN, "the job runs")
    large = submit(instance, nodes=1, exclusive=True, system={"constraints": {"ranks": ["0"]}})
    found = run(lead.move([ended, runs, large, 77], "burst-0"))
    assert found[ended] == "it has ended"
    assert found[runs] == "update of queue for running job not supported"
    assert found[large].startswith("job appears to have non-queue constraints")
    assert found[77] == "the instance does not know it"


def test_a_rank_is_tried_before_its_queue_has_jobs(instance: Instance, label: str) -> None:
    """What somebody else has put there is moved away before."""
    lead, early = lead_of(instance), submit(instance, queue="burst-0")
    found = tried(lead, label)
    assert found.probes == {0: ProbeResult(done=True)}
    assert (found.started, found.pending, found.running) == (True, frozenset(), frozenset())
    assert instance.jobs.get(early).queue == "default"
    assert view(lead, "another").probes == {}


def test_a_rank_is_tried_once_by_a_burst(instance: Instance, label: str) -> None:
    lead = lead_of(instance)
    for _ in range(2):
        tried(lead, label)
    assert len(instance.jobs.find(JobFilter(name=f"mcb-{label}-probe-0"))) == 1


def test_a_rank_with_too_few_cores_is_noticed(instance: Instance, label: str) -> None:
    """No broker notices it: where R is configured, nothing is verified."""
    found = tried(lead_of(instance, SLOT._replace(cores=4096)), label)
    assert found.probes == {0: ProbeResult(True, "it has fewer cores than the slot's 4096")}


def test_a_slot_is_closed_and_used_again(instance: Instance, label: str) -> None:
    lead = lead_of(instance)
    tried(lead, label)
    waits = submit(instance, nodes=1, exclusive=True, urgency=0)
    run(lead.move([waits], "burst-0"))
    for _ in range(2):
        run(lead.close("burst-0", 1, "minicluster: burst aaaaaaaaaa"))
    closed = view(lead)
    assert (closed.started, closed.drained, closed.pending) == (False, frozenset({0}), frozenset({waits}))
    [drain] = instance.nodes.resources().drains
    assert (drain.ranks, drain.reason) == ("1", "minicluster: burst aaaaaaaaaa")
    run(lead.move([waits], "default"))
    again = tried(lead, f"{label}-2")
    assert (again.drained, again.probes) == (frozenset(), {0: ProbeResult(done=True)})


def test_a_drain_of_somebody_else_stays(instance: Instance) -> None:
    lead = lead_of(instance)
    instance.nodes.drain("1", "broken disk")
    run(lead.probe("burst-0", "aaaaaaaaaa", [0]))
    assert view(lead).drained == {0}


def test_ranks_elsewhere_are_drained_as_well_later_and_before(instance: Instance) -> None:
    """Flux names drains by their ranks, in an order of its own."""
    lead = lead_of(instance)
    for first, then in (("1", "0"), ("0", "1")):
        instance.nodes.drain(first, "broken disk")
        instance.nodes.drain(then, "it shrinks")
        assert view(lead).drained == {0}
        instance.nodes.undrain("0-1")


def test_several_idsets_are_taken_in_any_order() -> None:
    assert SlotRanks(4, 5, 1).within("4-8", "1-3", "") == frozenset(range(5))


def test_jobs_that_run_begin_anew_at_home_and_once(instance: Instance, label: str, tmp_path: Path) -> None:
    """With those that wait for them; however often it is asked for."""
    lead, begun = lead_of(instance), tmp_path / "begun"
    tried(lead, label)
    once = 'test -e "$0" && exit; touch "$0"; exec sleep 60'
    job = submit(instance, "sh", "-c", once, str(begun), nodes=1, exclusive=True)
    after = submit(instance, dependencies=(f"afterok:{job}",))
    run(lead.move([job], "burst-0"))
    eventually(begun.exists, "the job runs there")
    assert view(lead, label).running == {job}
    for _ in range(2):
        run(lead.restart([job]))
    assert {instance.jobs.get(each).result for each in (job, after)} == {JobResult.CANCELED}
    copies = instance.jobs.find(JobFilter(states=JobState.PENDING, queue="default"))
    assert len(copies) == 2
    instance.queues.start("default")
    for copy in copies:
        assert host_of(instance, copy.id) == "mc-0"


def test_a_job_whose_node_is_lost_begins_anew_at_home_and_once(
    laboratory: Laboratory, instance: Instance, label: str
) -> None:
    """With those that failed as it did; one that may run once only is lost; however often it is asked for."""
    lead, since = lead_of(instance), time.time()
    tried(lead, label)
    once = {"minicluster": {"restart": False}}
    done = submit(instance)
    jobs = [
        submit(instance, "sleep", "60", cores_per_task=1),
        submit(instance, "sleep", "60", attributes=once),
    ]
    after = submit(instance, dependencies=(f"afterok:{jobs[0]}",))
    run(lead.move([done, *jobs], "burst-0"))
    eventually(lambda: view(lead, label).running == set(jobs), "both run there")
    laboratory.kill_broker(1)
    eventually(lambda: instance.jobs.get(after).result is not None, "what waits for it has failed as well")
    try:
        found = [run(lead.conclude("burst-0", [done, *jobs], since)) for _ in range(2)]
        assert found[0] == found[1]
        [copy, copied] = sorted(
            instance.jobs.find(JobFilter(states=JobState.PENDING)), key=lambda job: job.id
        )
        begun = f"begun anew as {f58(copy.id)}"
        assert found[0] == {done: "completed", jobs[0]: begun, jobs[1]: f"lost: {UNWANTED}"}
        assert (copy.queue, copied.queue) == ("default", "default")
        assert copied.dependencies == (f"after-success={copy.id}",)
    finally:
        laboratory.start_broker(1, "-Sbroker.quorum=1")
        eventually(lambda: view(lead).online == {0}, "it is back")


def test_what_became_of_other_jobs(instance: Instance) -> None:
    lead = lead_of(instance)
    waiting, canceled = submit(instance), submit(instance)
    instance.jobs.cancel(canceled)
    instance.jobs.wait(canceled, 30)
    assert run(lead.conclude("burst-0", [waiting, canceled, 1], time.time())) == {
        waiting: "goes on elsewhere",
        canceled: "canceled",
        1: "the instance does not know it",
    }


def test_a_rank_that_goes_is_missed_since_then(laboratory: Laboratory, instance: Instance) -> None:
    now = 1000.0
    lead = InstanceLead(instance, {"burst-0": SLOT}, now=lambda: now)
    assert view(lead).unresponsive == {}
    laboratory.kill_broker(1)
    eventually(lambda: view(lead).online == frozenset(), "the broker is gone")
    now += 5
    assert view(lead).unresponsive == {0: 1000.0}
    laboratory.start_broker(1, "-Sbroker.quorum=1")
    eventually(lambda: view(lead).online == {0}, "it is back")
    assert view(lead).unresponsive == {}


def test_a_lead_that_is_gone_is_away(laboratory: Laboratory) -> None:
    instance = laboratory.connect()
    instance.close()
    lead = lead_of(instance)
    for call in (
        lead.view("burst-0", "aaaaaaaaaa"),
        lead.probe("burst-0", "aaaaaaaaaa", [0]),
        lead.start_queue("burst-0"),
        lead.close("burst-0", 1, "reason"),
        lead.restart([77]),
    ):
        with pytest.raises(LeadAway):
            run(call)


def test_a_rank_that_was_away_is_tried_anew(instance: Instance, label: str) -> None:
    """What had tried it before counts no longer."""
    lead = lead_of(instance)
    assert tried(lead, label).probes == {0: ProbeResult(done=True)}
    lead._unresponsive("burst-0", frozenset())
    assert view(lead, label).probes == {}
    assert view(lead, label).probes == {}
    assert tried(lead, label).probes == {0: ProbeResult(done=True)}
