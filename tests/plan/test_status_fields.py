"""The status beside its conditions: phase, exit code, sizes, times, and what is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from minicluster.plan import (
    BrokerReport,
    JobCondition,
    JobReport,
    LeadVersions,
    Observed,
    Site,
    plan,
)
from minicluster.plan.constants import Phase
from tests.plan.decided import FAILED_STATUS, RUNNING, condition, decide, ended, pod, pods


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(Observed(), Phase.PENDING, id="no job"),
        pytest.param(Observed(job=RUNNING, pods=pods(phase="Pending")), Phase.STARTING, id="scheduled"),
        pytest.param(Observed(job=RUNNING, pods=pods()), Phase.STARTING, id="all pods run"),
        pytest.param(
            Observed(job=RUNNING, pods=pods(), brokers=BrokerReport("0-3", running=True)),
            Phase.RUNNING,
            id="running",
        ),
        pytest.param(Observed(job=JobReport(2, 2), pods=pods()), Phase.RESIZING, id="resizing"),
        pytest.param(Observed(job=JobReport(4, suspended=True)), Phase.SUSPENDED, id="suspended"),
        pytest.param(Observed(job=ended("Complete")), Phase.SUCCEEDED, id="succeeded"),
        pytest.param(Observed(job=ended("Failed")), Phase.FAILED, id="failed"),
    ],
)
def test_phase(make, keys, now, observed, expected):
    """The one word for people."""
    assert decide(make, keys, now, observed).status["phase"] == expected


def test_the_end_stays_when_the_job_is_gone(make, keys, now):
    """A result that was written once is not taken back, and nothing is made anew."""
    decided = decide(make, keys, now, Observed(), status=FAILED_STATUS)
    found = condition(decided, "Failed")
    assert (found["status"], found["message"], decided.objects) == ("True", "exit code 3", ())


@pytest.mark.parametrize(
    ("observed", "status", "expected"),
    [
        pytest.param(Observed(job=RUNNING), None, None, id="not while it runs"),
        pytest.param(Observed(job=ended("Complete")), None, 0, id="success"),
        pytest.param(Observed(job=ended("Failed"), pods=(pod(0, exit_code=3),)), None, 3, id="failure"),
        pytest.param(
            Observed(job=ended("Failed"), pods=(pod(0, exit_code=1, termination_message="75"),)),
            None,
            75,
            id="told by the lead",
        ),
        pytest.param(
            Observed(job=ended("Failed"), pods=(pod(0, exit_code=4, termination_message="oops"),)),
            None,
            4,
            id="another message",
        ),
        pytest.param(Observed(job=ended("Failed")), None, None, id="the lead's pod is gone"),
        pytest.param(Observed(), FAILED_STATUS, 3, id="known before"),
    ],
)
def test_exit_code(make, keys, now, observed, status, expected):
    """The main command's exit code is that of the lead, told or its own."""
    assert decide(make, keys, now, observed, status=status).status.get("exitCode") == expected


@pytest.mark.parametrize(
    ("observed", "status", "expected"),
    [
        pytest.param(Observed(job=RUNNING, brokers=BrokerReport("0-2")), None, 3, id="reported"),
        pytest.param(Observed(job=RUNNING), None, 0, id="not reported"),
        pytest.param(Observed(job=ended("Complete"), brokers=BrokerReport("0-3")), None, 0, id="ended"),
        pytest.param(
            Observed(job=JobReport(4, suspended=True), brokers=BrokerReport("0-3")), None, 0, id="held"
        ),
    ],
)
def test_ready_brokers(make, keys, now, observed, status, expected):
    """Brokers count once they have joined, and only while there are some."""
    assert decide(make, keys, now, observed, status=status).status["readyBrokers"] == expected


def test_times(make, keys, now):
    """Start and end are the Job's; an end without a time is now, once."""
    began, later = now - timedelta(hours=1), now + timedelta(hours=1)
    report = JobReport(4, conditions=(JobCondition("Failed"),), start_time=began)
    first = decide(make, keys, now, Observed(job=report)).status
    again = decide(make, keys, later, Observed(), status=first).status
    expected = ("2026-03-14T14:09:26Z", "2026-03-14T15:09:26Z")
    assert [(each["startTime"], each["completionTime"]) for each in (first, again)] == [expected, expected]


def test_report_and_dump_are_kept(make, keys, now):
    """What the lead reported, and what was saved, stays when it reports no more."""
    report = BrokerReport(
        "0-3",
        running=True,
        jobid="ƒ2",
        queue_policy="easy (Fluxion)",
        versions=LeadVersions("0.2.0", "embedded", "0.88.0"),
    )
    first = decide(make, keys, now, Observed(job=RUNNING, brokers=report)).status
    first["lastDump"] = {"path": "/archive/dump.tgz", "time": "2026-03-14T15:00:00Z"}
    again = decide(make, keys, now, Observed(job=RUNNING), status=first).status
    kept = ("jobid", "queuePolicy", "lastDump", "lead")
    assert {key: again[key] for key in kept} == {key: first[key] for key in kept}
    assert first["lead"] == {"minicluster": "0.2.0", "engine": "embedded", "flux": "0.88.0"}


@pytest.mark.parametrize(
    ("wanted", "status", "expected"),
    [
        pytest.param({"size": 4}, None, 4, id="the start size"),
        pytest.param({"size": 4, "maxSize": 8}, None, 8, id="maxSize"),
        pytest.param({"size": 2}, {"maximumSize": 4}, 4, id="what it started with"),
        pytest.param({"size": 0, "suspend": True}, None, 0, id="not known yet"),
    ],
)
def test_maximum_size(make, keys, now, wanted, status, expected):
    """Growth ends with the hosts that Flux was told of at the start."""
    cluster = make(wanted, status=status)
    assert plan(cluster, Observed(), Site(), keys, now).status["maximumSize"] == expected
