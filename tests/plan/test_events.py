"""What changes from one reconcile to the next: the events, and documents that are refused."""

from __future__ import annotations

import pytest

from minicluster.document import Status
from minicluster.plan import (
    BrokerReport,
    JobReport,
    Observed,
    PodReport,
    refuse,
)
from minicluster.plan.constants import Reason
from tests.plan.decided import RUNNING, condition, decide, ended, pod, pods

TRANSITIONS = [
    pytest.param(None, Observed(), [], id="being made"),
    pytest.param(Observed(), Observed(job=RUNNING), [], id="made before"),
    pytest.param(
        Observed(job=RUNNING),
        Observed(job=RUNNING, pods=(PodReport(0, message="no node"),)),
        [("Warning", "Unschedulable")],
        id="no room",
    ),
    pytest.param(
        Observed(job=RUNNING),
        Observed(job=RUNNING, pod_refusal="exceeded quota: q"),
        [("Warning", "Refused")],
        id="pods are refused",
    ),
    pytest.param(
        Observed(job=RUNNING, pod_refusal="exceeded quota: q, used: 1"),
        Observed(job=RUNNING, pods=pods(1), pod_refusal="exceeded quota: q, used: 2"),
        [],
        id="pods are still refused",
    ),
    pytest.param(
        Observed(job=RUNNING),
        Observed(job=RUNNING, brokers=BrokerReport("0-3", running=True)),
        [("Normal", "AllJoined"), ("Normal", "CommandRunning")],
        id="up",
    ),
    pytest.param(
        Observed(job=RUNNING), Observed(job=ended("Complete")), [("Normal", "CommandSucceeded")], id="success"
    ),
    pytest.param(
        Observed(job=RUNNING),
        Observed(job=ended("Failed"), pods=(pod(0, exit_code=3),)),
        [("Warning", "CommandFailed")],
        id="failure",
    ),
    pytest.param(
        Observed(job=RUNNING),
        Observed(job=JobReport(4, suspended=True)),
        [("Normal", "Suspended")],
        id="suspend",
    ),
    pytest.param(
        Observed(job=JobReport(4, suspended=True)),
        Observed(job=RUNNING),
        [("Normal", "NotSuspended")],
        id="resume",
    ),
    pytest.param(
        Observed(job=RUNNING), Observed(job=JobReport(2, 2)), [("Normal", "Growing")], id="growth begins"
    ),
    pytest.param(
        Observed(job=JobReport(8, 8)), Observed(job=RUNNING), [("Normal", "AtSize")], id="shrinking ends"
    ),
    pytest.param(Observed(job=RUNNING), Observed(job=RUNNING), [], id="nothing"),
]


@pytest.mark.parametrize(("before", "after", "expected"), TRANSITIONS)
def test_events(make, keys, now, before, after, expected):
    """A change that a person would ask about is told, once."""
    status = None if before is None else decide(make, keys, now, before).status
    events = decide(make, keys, now, after, status=status).events
    notable = [(event.type, str(event.reason)) for event in events if event.reason != Reason.CREATED]
    assert notable == expected


def test_refused_document(now):
    """A document that is not valid changes nothing but its status, and an Event says why."""
    problem = "spec.containers[0].launcher: launcher and batch exclude each other"
    decided = refuse(Status(), 7, problem, now)
    assert (decided.objects, decided.delete) == ((), ())
    assert [(event.type, str(event.reason), event.message) for event in decided.events] == [
        ("Warning", "Invalid", problem)
    ]
    assert (decided.status["phase"], decided.status["observedGeneration"]) == ("Invalid", 7)
    assert condition(decided, "Valid")["message"] == problem
    assert {each["status"] for each in decided.status["conditions"][1:]} == {"Unknown"}


def test_refused_later_keeps_what_was_known(make, keys, now):
    """A running MiniCluster whose document breaks stays described; fixing the document heals it."""
    good = decide(make, keys, now, Observed(job=RUNNING, pods=pods())).status
    broken = refuse(Status.model_validate(good), 2, "spec.size: …", now).status
    assert [each["status"] for each in broken["conditions"][1:]] == [
        each["status"] for each in good["conditions"][1:]
    ]
    healed = decide(make, keys, now, Observed(job=RUNNING, pods=pods()), status=broken).status
    assert healed == good
