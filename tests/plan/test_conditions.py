"""The conditions: what exists → status, reason and words; and what changes from one reconcile to the next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from minicluster.plan import (
    BrokerReport,
    JobCondition,
    JobReport,
    ObjectKey,
    Observed,
    ObservedObject,
    PodReport,
    Refusal,
    Site,
    plan,
    refuse,
)
from minicluster.plan.constants import ConditionType, Phase, Reason
from minicluster.spec import Status

RUNNING = JobReport(parallelism=4, active=4)
FAILED_STATUS = {
    "conditions": [{"type": "Failed", "status": "True", "reason": "CommandFailed", "message": "exit code 3"}],
    "exitCode": 3,
}

SITE = Site()


def pod(index: int, **fields: Any) -> PodReport:
    return PodReport(index, **{"phase": "Running", "scheduled": True, **fields})


def pods(count: int = 4, **fields: Any) -> tuple[PodReport, ...]:
    return tuple(pod(index, **fields) for index in range(count))


def ended(type_: str, reason: str = "", message: str = "") -> JobReport:
    return JobReport(parallelism=4, conditions=(JobCondition(type_, "True", reason, message),))


def decide(
    make, keys, now, observed: Observed, wanted: Any = None, status: Any = None, site: Site = SITE
) -> Any:
    """The plan where all objects exist besides what is observed."""
    cluster = make({"size": 4, **(wanted or {})}, status=status)
    first = plan(cluster, Observed(), site, keys, now)
    found = tuple(
        ObservedObject(ObjectKey(item["kind"], item["metadata"]["name"]), cluster.metadata.uid)
        for item in first.objects
    )
    whole = replace(observed, objects=found)
    return plan(cluster, whole, site, None, now)


def condition(decided: Any, type_: str) -> dict[str, Any]:
    (found,) = (each for each in decided.status["conditions"] if each["type"] == type_)
    return found


@pytest.mark.parametrize(
    ("type_", "observed", "expected"),
    [
        pytest.param(
            "PodsScheduled", Observed(), ("False", "NoPods", "the Job does not exist yet"), id="no job"
        ),
        pytest.param(
            "PodsScheduled",
            Observed(job=RUNNING),
            (
                "False",
                "Scheduling",
                "0 of 4 pods have a node; 4 not made yet (if it stays so, kubectl describe job hpc says why)",
            ),
            id="no pods yet",
        ),
        pytest.param(
            "PodsScheduled",
            Observed(
                job=RUNNING, pods=(*pods(3), PodReport(3, message="0/3 nodes are available: 3 Too many"))
            ),
            (
                "False",
                "Unschedulable",
                "3 of 4 pods have a node; hpc-3: 0/3 nodes are available: 3 Too many",
            ),
            id="no room",
        ),
        pytest.param(
            "PodsScheduled",
            Observed(job=RUNNING, pods=pods(6)),
            ("True", "AllScheduled", "4 of 4 pods have a node"),
            id="scheduled, two leaving",
        ),
        pytest.param(
            "BrokersReady",
            Observed(job=RUNNING, pods=pods()),
            ("Unknown", "NotReported", "the lead broker has not reported yet"),
            id="no report",
        ),
        pytest.param(
            "BrokersReady",
            Observed(job=RUNNING, brokers=BrokerReport("0-2")),
            ("False", "Joining", "3 of 4 brokers have joined; work starts with 4; missing: 3 (no pod yet)"),
            id="joining",
        ),
        pytest.param(
            "BrokersReady",
            Observed(job=RUNNING, brokers=BrokerReport("0-3")),
            ("True", "AllJoined", "4 of 4 brokers have joined"),
            id="joined",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, brokers=BrokerReport("0-2")),
            ("False", "Joining", "the lead broker waits for the others"),
            id="waiting for the quorum",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, brokers=BrokerReport("0-3", running=True)),
            ("True", "CommandRunning", "the main command runs"),
            id="command runs",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, pods=pods(2)),
            ("False", "PodsStarting", "2 of 4 pods run"),
            id="pods start",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, pods=pods()),
            ("False", "Joining", "4 of 4 pods run; the lead broker has not reported yet"),
            id="pods run, no report",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, pods=pods(), silence="the lead's door does not answer"),
            ("True", "PodsRunning", "4 of 4 pods run"),
            id="pods run, the lead is not heard",
        ),
        pytest.param(
            "Running",
            Observed(
                job=RUNNING,
                pods=(*pods(2), pod(2, phase="Pending", reason="ImagePullBackOff", message="not found")),
            ),
            ("False", "PodsStuck", "2 of 4 pods run; hpc-2: ImagePullBackOff: not found"),
            id="image cannot be pulled",
        ),
        pytest.param(
            "Running",
            Observed(job=RUNNING, pods=(pod(0, phase="Pending", reason="CrashLoopBackOff"),)),
            ("False", "PodsStuck", "0 of 4 pods run; hpc-0: CrashLoopBackOff"),
            id="a reason without words",
        ),
        pytest.param(
            "Running",
            Observed(job=ended("Complete")),
            ("False", "Finished", "the MiniCluster has ended"),
            id="not after the end",
        ),
        pytest.param(
            "Succeeded",
            Observed(job=RUNNING),
            ("False", "NotFinished", "the MiniCluster has not ended"),
            id="not ended",
        ),
        pytest.param(
            "Succeeded",
            Observed(job=ended("SuccessCriteriaMet")),
            ("True", "CommandSucceeded", "the main command ended with exit code 0"),
            id="success is known before the other pods are gone",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("Complete")),
            ("False", "Finished", "the MiniCluster has succeeded"),
            id="succeeded, so not failed",
        ),
        pytest.param(
            "Succeeded",
            Observed(job=ended("Failed", "PodFailurePolicy")),
            ("False", "Finished", "the MiniCluster has failed"),
            id="failed, so not succeeded",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("FailureTarget", "PodFailurePolicy"), pods=(pod(0, exit_code=3),)),
            ("True", "CommandFailed", "the main command ended with exit code 3"),
            id="the lead's exit code",
        ),
        pytest.param(
            "Failed",
            Observed(
                job=ended("Failed", "PodFailurePolicy"),
                pods=(pod(0, exit_code=1, termination_message="137\n"),),
            ),
            ("True", "CommandFailed", "the main command ended with exit code 137"),
            id="the true code is in the termination message",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("Failed", "DeadlineExceeded", "Job was active longer")),
            ("True", "DeadlineExceeded", "not finished within 31500000 s (spec.deadlineSeconds)"),
            id="deadline",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("Failed", "BackoffLimitExceeded", "Job has reached the specified limit")),
            (
                "True",
                "TooManyLostPods",
                "more than 100 pods were lost (spec.backoffLimit): Job has reached the specified limit",
            ),
            id="back-off limit",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("Failed", "PodFailurePolicy", "a pod is gone")),
            ("True", "JobFailed", "the Job failed: a pod is gone"),
            id="nobody knows the exit code",
        ),
        pytest.param(
            "Failed",
            Observed(job=ended("Failed", "Odd")),
            ("True", "JobFailed", "the Job failed: Odd"),
            id="a failure without words",
        ),
        pytest.param(
            "Suspended",
            Observed(job=JobReport(4, suspended=True)),
            ("True", "Suspended", "suspended; it goes on when spec.suspend is false"),
            id="suspended",
        ),
        pytest.param(
            "Suspended",
            Observed(job=RUNNING),
            ("False", "NotSuspended", "the MiniCluster is not suspended"),
            id="not suspended",
        ),
        pytest.param(
            "BrokersReady",
            Observed(job=JobReport(4, suspended=True)),
            ("False", "HeldBack", "the MiniCluster is suspended"),
            id="no brokers while suspended",
        ),
        pytest.param(
            "Resizing",
            Observed(job=RUNNING),
            ("False", "AtSize", "the MiniCluster has its size of 4"),
            id="at its size",
        ),
        pytest.param(
            "Resizing",
            Observed(job=JobReport(parallelism=2, active=2)),
            ("True", "Growing", "growing to 4 pods"),
            id="growing",
        ),
        pytest.param(
            "Resizing",
            Observed(job=JobReport(parallelism=8, active=8)),
            ("True", "Shrinking", "shrinking to 4 pods"),
            id="shrinking",
        ),
        pytest.param(
            "Resizing",
            Observed(job=JobReport(parallelism=2, suspended=True)),
            ("False", "AtSize", "the MiniCluster has its size of 4"),
            id="a suspended one does not resize",
        ),
    ],
)
def test_condition(make, keys, now, type_, observed, expected):
    """What exists gives the condition of the table."""
    found = condition(decide(make, keys, now, observed), type_)
    assert (found["status"], found["reason"], found["message"]) == expected


@pytest.mark.parametrize(
    ("observed_pods", "generation", "expected"),
    [
        pytest.param(
            pods(),
            1,
            ("BrokersMissing", "3 of 4 brokers have joined; missing: 3 (its pod runs, it has not joined)"),
            id="lost",
        ),
        pytest.param(
            (*pods(3), pod(3, phase="Unknown", reason="NodeLost", message="the node does not answer")),
            1,
            (
                "BrokersMissing",
                "3 of 4 brokers have joined; missing: 3 (NodeLost: the node does not answer)",
            ),
            id="lost with its node",
        ),
        pytest.param(
            pods(3),
            2,
            (
                "Joining",
                "3 of 4 brokers have joined; work starts with 4; missing: 3 (no pod yet)",
            ),
            id="another size since",
        ),
    ],
)
def test_brokers_that_were_lost(make, keys, now, observed_pods, generation, expected):
    """Once all have joined, a broker that lacks was lost: a warning says so, and says what its pod does."""
    complete = Observed(job=RUNNING, pods=pods(), brokers=BrokerReport("0-3", running=True))
    before = decide(make, keys, now, complete).status
    less = Observed(job=RUNNING, pods=observed_pods, brokers=BrokerReport("0-2", running=True))
    cluster = make({"size": 4}, status=before, generation=generation)
    found = condition(plan(cluster, less, Site(), keys, now), "BrokersReady")
    assert (found["reason"], found["message"]) == expected


def test_refused_by_the_server(make, keys, now):
    """What the API server does not take is told in its own words, and wanted all the same."""
    refusals = (Refusal(ObjectKey("Job", "hpc"), "exceeded quota: pods, used 10, limited 10"),)
    decided = plan(make({"size": 4}), Observed(refusals=refusals), Site(), keys, now)
    found = condition(decided, "ResourcesCreated")
    assert (found["status"], found["reason"]) == ("False", "Refused")
    assert found["message"] == (
        "Job hpc was refused: exceeded quota: pods, used 10, limited 10 (it is tried again)"
    )
    assert "Job" in {item["kind"] for item in decided.objects}


def test_interactive_waits_for_work(make, keys, now):
    """An instance without a command is ready for work."""
    observed = Observed(job=RUNNING, brokers=BrokerReport("0-3", running=True))
    found = condition(decide(make, keys, now, observed, {"interactive": True}), "Running")
    assert found["reason"] == "ReadyForWork"


def test_queued_by_kueue(make, keys, now):
    """Under Kueue the condition names the queue."""
    wanted = {"jobLabels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    found = condition(
        decide(make, keys, now, Observed(job=JobReport(4, suspended=True)), wanted), "Suspended"
    )
    assert (found["reason"], found["message"]) == (
        "Queued",
        "the Job waits for its turn in Kueue's queue team-a",
    )


@pytest.mark.parametrize(
    ("active", "expected"), [(3, "Growing"), (4, "AtSize"), (5, "Shrinking")], ids=["fewer", "equal", "more"]
)
def test_resizing_ends_with_the_pods(make, keys, now, active, expected):
    """Once begun, a resize lasts until as many pods are there as are wanted."""
    status = {"conditions": [{"type": "Resizing", "status": "True", "reason": "Growing"}]}
    observed = Observed(job=JobReport(parallelism=4, active=active))
    assert condition(decide(make, keys, now, observed, status=status), "Resizing")["reason"] == expected


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


def test_every_condition_is_there(make, keys, now):
    """A status always has all conditions, in one order, each explained and about this generation.

    But for the one about an autoscaler that nobody has asked for.
    """
    found = decide(make, keys, now, Observed()).status["conditions"]
    always = [type_ for type_ in ConditionType if type_ is not ConditionType.AUTOSCALING]
    assert [each["type"] for each in found] == always
    assert all(each["reason"] and each["message"] and each["observedGeneration"] == 1 for each in found)
    assert all(each["reason"] in set(Reason) for each in found)


def test_transition_time_is_kept_while_the_status_is(make, keys, now):
    """Only a changed status has a new time, whatever its reason and message."""
    before = decide(make, keys, now, Observed(job=RUNNING, pods=pods(2))).status
    after = decide(
        make,
        keys,
        now + timedelta(minutes=5),
        Observed(job=RUNNING, pods=pods(), brokers=None),
        status=before,
    ).status
    times = {each["type"]: each["lastTransitionTime"] for each in after["conditions"]}
    assert (times["Valid"], times["PodsScheduled"]) == ("2026-03-14T15:09:26Z", "2026-03-14T15:14:26Z")


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
    report = BrokerReport("0-3", running=True, jobid="ƒ2", queue_policy="easy (Fluxion)")
    first = decide(make, keys, now, Observed(job=RUNNING, brokers=report)).status
    first["lastDump"] = {"path": "/archive/dump.tgz", "time": "2026-03-14T15:00:00Z"}
    again = decide(make, keys, now, Observed(job=RUNNING), status=first).status
    kept = ("jobid", "queuePolicy", "lastDump")
    assert {key: again[key] for key in kept} == {key: first[key] for key in kept}


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
    told = decide(make, keys, now, after, status=status).events
    notable = [(event.type, str(event.reason)) for event in told if event.reason != Reason.CREATED]
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
