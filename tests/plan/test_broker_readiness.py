"""Which brokers have joined, and why the others have not: words for people, from pods and from the lead."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.plan import BrokerReport, JobReport, Observed, PodReport
from tests.plan.test_conditions import condition, decide, pod, pods

RUNNING = JobReport(parallelism=4, active=4)
PULL = {"phase": "Pending", "reason": "ImagePullBackOff", "message": 'Back-off pulling image "app"'}


def observed(report: BrokerReport | None, *found: PodReport, unreachable_reason: str = "") -> Observed:
    return Observed(job=RUNNING, pods=found, brokers=report, unreachable_reason=unreachable_reason)


def ready(make: Any, keys: Any, now: Any, seen: Observed, **more: Any) -> dict[str, Any]:
    return condition(decide(make, keys, now, seen, **more), "BrokersReady")


WAITING = [
    pytest.param((), "1-3 (no pod yet)", id="no pods"),
    pytest.param(
        (pod(1), pod(2), PodReport(3, scheduled=True, **PULL)),  # type: ignore[arg-type]
        '1-2 (its pod runs, it has not joined), 3 (ImagePullBackOff: Back-off pulling image "app")',
        id="image",
    ),
    pytest.param(
        (PodReport(1), PodReport(2, scheduled=True), PodReport(3, "Failed", scheduled=True, exit_code=137)),
        "1 (its pod has no node yet), 2 (its pod starts), 3 (its pod has ended with exit code 137)",
        id="on the way",
    ),
    pytest.param(
        (pod(1), pod(2), PodReport(3, "Failed", scheduled=True, exit_code=75, refusal="cannot read R")),
        "1-2 (its pod runs, it has not joined), 3 (its pod has ended with exit code 75: cannot read R)",
        id="cannot start",
    ),
    pytest.param(
        tuple(PodReport(rank, reason="Unschedulable", message="0/3 nodes") for rank in (1, 2, 3)),
        "1-3 (Unschedulable: 0/3 nodes)",
        id="those alike are named together",
    ),
    pytest.param(
        (PodReport(1, scheduled=True, reason="CreateContainerConfigError", message='secret "s" not found'),),
        '1 (CreateContainerConfigError: secret "s" not found), 2-3 (no pod yet)',
        id="a missing Secret",
    ),
    pytest.param(
        (PodReport(1, reason="ErrImagePull", message="a\n\n" + "x" * 1000), pod(2), pod(3)),
        f"1 (ErrImagePull: a {'x' * 223}…), 2-3 (its pod runs, it has not joined)",
        id="long words are cut",
    ),
]


@pytest.mark.parametrize(("found", "missing"), WAITING)
def test_pods_give_the_reason(make, keys, now, found, missing):
    seen = observed(BrokerReport("0"), pod(0), *found)
    expected = f"1 of 4 brokers have joined; work starts with 2; missing: {missing}"
    assert ready(make, keys, now, seen, wanted={"minSize": 2})["message"] == expected


TROUBLES = [
    pytest.param(
        ("hpc-2: turned away: wrong certificate",),
        "1,3 (its pod runs, it has not joined), 2 (turned away: wrong certificate)",
        id="by host",
    ),
    pytest.param(
        ("10.0.0.3: turned away: wrong certificate",),
        "1,3 (its pod runs, it has not joined), 2 (turned away: wrong certificate)",
        id="by address",
    ),
    pytest.param(
        ("hpc-2: lost: lost connection", "hpc-2: offline: administrative shutdown"),
        "1,3 (its pod runs, it has not joined), 2 (lost: lost connection)",
        id="the newest counts",
    ),
    pytest.param(
        ("a broker: turned away: wrong certificate", "hpc-7: lost"),
        "1-3 (its pod runs, it has not joined); the lead says: a broker: turned away: wrong certificate;"
        " hpc-7: lost",
        id="of others",
    ),
]


@pytest.mark.parametrize(("troubles", "missing"), TROUBLES)
def test_the_lead_reports_why(make, keys, now, troubles, missing):
    running = tuple(pod(rank, address=f"10.0.0.{rank + 1}") for rank in range(4))
    seen = observed(BrokerReport("0", troubles=troubles), *running)
    assert ready(make, keys, now, seen)["message"].partition("missing: ")[2] == missing


def test_a_pod_that_is_deleted_and_stays_is_named(make, keys, now):
    """Nobody ends the pods of a node that died."""
    seen = observed(
        BrokerReport("0,2-3", troubles=("hpc-1: lost: lost connection",)), *pods(1), pod(1, leaving=True)
    )
    assert ready(make, keys, now, seen)["message"].endswith(
        "1 (lost: lost connection; its pod was told to go, and is still there"
        " (a node that died holds its pods))"
    )


def test_no_more_than_a_few_reasons_are_named(make, keys, now):
    found = (PodReport(rank, reason=f"Reason{rank}") for rank in range(1, 12))
    seen = observed(BrokerReport("0"), pod(0), *found)
    message = ready(make, keys, now, seen, wanted={"size": 12})["message"]
    assert message.endswith("5 (Reason5), and others for 6 more reasons")


def test_one_broker_has_joined(make, keys, now):
    seen = observed(BrokerReport("0"), pod(0))
    message = ready(make, keys, now, seen, wanted={"size": 1})["message"]
    assert message == "1 of 1 broker has joined"


def test_ranks_that_are_to_leave_do_not_count(make, keys, now):
    seen = observed(BrokerReport("0-3"), *pods(4))
    decided = decide(make, keys, now, seen, {"size": 2})
    assert decided.status["readyBrokers"] == 2
    assert condition(decided, "BrokersReady")["message"] == "2 of 2 brokers have joined"


@pytest.mark.parametrize(
    ("lead", "unreachable_reason", "message"),
    [
        pytest.param((), "", "the lead broker has not reported yet: no pod yet", id="no pod"),
        pytest.param(
            (PodReport(0, scheduled=True, **PULL),),  # type: ignore[arg-type]
            "",
            'the lead broker has not reported yet: ImagePullBackOff: Back-off pulling image "app"',
            id="no image",
        ),
        pytest.param((pod(0),), "", "the lead broker has not reported yet", id="it has just begun"),
        pytest.param(
            (pod(0),),
            "the lead API does not answer: connection refused",
            "the lead API does not answer: connection refused",
            id="silent",
        ),
    ],
)
def test_why_the_lead_is_unreachable(make, keys, now, lead, unreachable_reason, message):
    found = ready(make, keys, now, observed(None, *lead, unreachable_reason=unreachable_reason))
    assert (found["status"], found["reason"], found["message"]) == ("Unknown", "NotReported", message)


class TestWithoutNews:
    """An operator that was just started has heard nothing yet; that is no reason to write to everything."""

    REPORT = BrokerReport("0-3", running=True, jobid="ƒ2")

    def test_the_last_report_stands(self, make, keys, now):
        before = decide(make, keys, now, observed(self.REPORT, *pods(4))).status
        after = decide(make, keys, now, observed(None, *pods(4)), status=before)
        assert (after.status, after.events) == (before, ())

    def test_a_lead_server_that_never_reports_is_not_waited_for_again(self, make, keys, now):
        unreachable_reason = "the lead API does not answer"
        before = decide(
            make, keys, now, observed(None, *pods(4), unreachable_reason=unreachable_reason)
        ).status
        after = decide(make, keys, now, observed(None, *pods(4)), status=before)
        running_condition = condition(after, "Running")
        assert (running_condition["status"], running_condition["reason"], running_condition["message"]) == (
            "True",
            "PodsRunning",
            "4 of 4 pods run",
        )

    def test_it_is_no_verdict_on_another_size(self, make, keys, now):
        """Else brokers that were never there would be told as lost."""
        report = BrokerReport("0-1", running=True)
        before = decide(make, keys, now, observed(report, *pods(2)), {"size": 2, "maxSize": 4}).status
        stored = {
            **before,
            "conditions": [{**each, "observedGeneration": 0} for each in before["conditions"]],
        }
        silent = decide(make, keys, now, observed(None, *pods(2)), {"maxSize": 4}, stored)
        assert condition(silent, "BrokersReady")["reason"] == "NotReported"
        assert (silent.status["readyBrokers"], condition(silent, "Running")["status"]) == (2, "True")
        again = decide(make, keys, now, observed(report, *pods(2)), {"maxSize": 4}, silent.status)
        assert condition(again, "BrokersReady")["reason"] == "Joining"

    @pytest.mark.parametrize("code", [0, 3])
    def test_it_stands_until_the_job_has_reported_the_end(self, make, keys, now, code):
        """The lead has ended, its door with it: for a moment nothing else is known."""
        before = decide(make, keys, now, observed(self.REPORT, *pods(4))).status
        lead = pod(0, phase="Failed" if code else "Succeeded", exit_code=code)
        seen = observed(None, lead, *pods(4)[1:], unreachable_reason="the lead API does not answer")
        assert decide(make, keys, now, seen, status=before).status == before

    @pytest.mark.parametrize(
        ("found", "unreachable_reason"),
        [
            pytest.param((pod(0, phase="Failed", exit_code=137), *pods(4)[1:]), "", id="the lead was lost"),
            pytest.param(pods(4), "the lead API does not answer", id="the door is silent"),
            pytest.param(pods(4, phase="Pending"), "", id="the lead does not run any more"),
        ],
    )
    def test_but_not_once_it_cannot_be_so(self, make, keys, now, found, unreachable_reason):
        before = decide(make, keys, now, observed(self.REPORT, *pods(4))).status
        after = decide(
            make, keys, now, observed(None, *found, unreachable_reason=unreachable_reason), status=before
        )
        assert condition(after, "BrokersReady")["reason"] == "NotReported"
        assert after.status["readyBrokers"] == 0
        assert condition(after, "Running")["reason"] in {"PodsRunning", "LeadLost"}
