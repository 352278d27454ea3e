"""What is said when the lead's pod is lost: what goes with it, and that the next instance is another."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.plan import BrokerReport, Observed, PodReport
from minicluster.plan.status.lead_loss import NOTE
from tests.plan.test_broker_readiness import observed
from tests.plan.test_conditions import condition, decide, pod, pods

WORKS = BrokerReport("0-3", running=True)
LOSSES = [
    pytest.param((), "the lead's pod is gone", id="deleted"),
    pytest.param((pod(0, phase="Failed", exit_code=137),), "the lead's pod has ended with 137", id="killed"),
    pytest.param((PodReport(0),), "the lead's pod is gone", id="replaced meanwhile"),
]
STATE = {"flux": {"stateVolume": {"claimName": "disk"}}}
KEPT = [
    pytest.param(
        {"interactive": True},
        "its queue and its jobs are lost (spec.flux.stateVolume would keep them); another one takes new work",
        id="nothing",
    ),
    pytest.param(
        {"interactive": False, "containers": [{"image": "app", "command": "hostname"}]},
        "its queue and its jobs are lost (spec.flux.stateVolume would keep them); another one runs the"
        " command from its beginning",
        id="a command",
    ),
    pytest.param(
        STATE,
        "another one goes on with its queue (spec.flux.stateVolume); jobs that ran have failed",
        id="state volume",
    ),
    pytest.param(
        {"archive": {"path": "/disk/mc.tgz"}},
        "another one goes on from /disk/mc.tgz, as far as that was written",
        id="archive",
    ),
]


def running(make: Any, keys: Any, now: Any, before: Any, seen: Observed, **spec: Any) -> dict[str, Any]:
    return condition(decide(make, keys, now, seen, spec, before.status), "Running")


def others() -> tuple[PodReport, ...]:
    return pods(4)[1:]


@pytest.mark.parametrize(("lead", "how"), LOSSES)
def test_the_message_names_how_the_lead_ended(make, keys, now, lead, how):
    before = decide(make, keys, now, observed(WORKS, *pods(4)))
    after = decide(make, keys, now, observed(None, *lead, *others()), status=before.status)
    found = condition(after, "Running")
    assert (found["status"], found["reason"]) == ("False", "LeadLost")
    assert found["message"].startswith(f"{how}: ")
    assert found["message"].endswith("; 3 of 4 pods run")
    assert [each.type for each in after.events if each.reason == "LeadLost"] == ["Warning"]


@pytest.mark.parametrize(("spec", "words"), KEPT)
def test_the_message_names_what_was_lost(make, keys, now, spec, words):
    before = decide(make, keys, now, observed(WORKS, *pods(4)), spec)
    assert f": {words};" in running(make, keys, now, before, observed(None, *others()), **spec)["message"]


def test_the_message_stays_until_another_lead_reports(make, keys, now):
    """Also while that one's pod starts, and runs."""
    plan = decide(make, keys, now, observed(WORKS, *pods(4)))
    plan = decide(make, keys, now, observed(None, pod(0, phase="Failed", exit_code=143)), status=plan.status)
    for seen in (
        observed(None, PodReport(0)),
        observed(None, *pods(4)),
        observed(None, *pods(4), unreachable_reason="-"),
    ):
        plan = decide(make, keys, now, seen, status=plan.status)
        assert condition(plan, "Running")["reason"] == "LeadLost"
        assert condition(plan, "Running")["message"].startswith("the lead's pod has ended with 143: ")


@pytest.mark.parametrize(("spec", "noted"), [({}, True), (STATE, False)], ids=["lost", "kept"])
def test_the_next_instance_is_reported_as_another_one(make, keys, now, spec, noted):
    """As long as it lives, where the queue is lost."""
    plan = decide(make, keys, now, observed(WORKS, *pods(4)), spec)
    plan = decide(make, keys, now, observed(None, *others()), spec, plan.status)
    for report in (BrokerReport("0"), WORKS, WORKS):
        plan = decide(make, keys, now, observed(report, *pods(4)), spec, plan.status)
        assert condition(plan, "Running")["message"].endswith(f"; {NOTE}") is noted


def test_a_lead_that_ended_with_its_instance_is_not_lost(make, keys, now):
    before = decide(make, keys, now, observed(WORKS, *pods(4)))
    seen = observed(None, pod(0, phase="Failed", exit_code=3), *others(), unreachable_reason="-")
    assert running(make, keys, now, before, seen)["reason"] != "LeadLost"


def test_a_lead_server_that_is_silent_is_no_loss(make, keys, now):
    """Its pod runs, and jobs do not care."""
    before = decide(make, keys, now, observed(WORKS, *pods(4)))
    assert (
        running(make, keys, now, before, observed(None, *pods(4), unreachable_reason="-"))["reason"]
        == "PodsRunning"
    )


def test_a_lead_that_never_worked_is_not_lost(make, keys, now):
    before = decide(make, keys, now, observed(None, *pods(2)))
    assert running(make, keys, now, before, observed(None, *others()))["reason"] == "PodsStarting"


@pytest.mark.parametrize(
    "began",
    [
        pytest.param(observed(None, *pods(4)), id="all pods ran"),
        pytest.param(observed(BrokerReport("0-1"), *pods(2)), id="some brokers had joined"),
        pytest.param(observed(None, *pods(4), unreachable_reason="-"), id="it did not answer"),
    ],
)
def test_a_lead_that_is_lost_before_its_work_is_why_fewer_pods_run(make, keys, now, began):
    """Until all run once more: a number that goes down without a word is read as a failure."""
    plan = decide(make, keys, now, began)
    for seen in (observed(None), observed(None, PodReport(0), *pods(4)[2:])):
        plan = decide(make, keys, now, seen, status=plan.status)
        found = condition(plan, "Running")
        count = sum(each.phase == "Running" for each in seen.pods)
        message = f"{count} of 4 pods run again: the lead's pod was replaced"
        assert (found["reason"], found["message"]) == ("LeadReplaced", message)
    plan = decide(make, keys, now, observed(None, *pods(4)), status=plan.status)
    assert condition(plan, "Running")["reason"] == "Joining"
