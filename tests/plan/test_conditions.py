"""The conditions: what exists → status, reason and words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from minicluster.plan import (
    ApplyRefusal,
    BrokerReport,
    JobReport,
    ObjectKey,
    Observed,
    PodReport,
    Site,
    plan,
)
from minicluster.plan.constants import SELDOM, ConditionType, Reason
from tests.plan.decided import RUNNING, condition, decide, ended, pod, pods

KILLED = "killed for memory (OOMKilled): hpc-0; raise resources.limits.memory"


@pytest.mark.parametrize(
    ("type_", "observed", "expected"),
    [
        pytest.param(
            "PodsScheduled", Observed(), ("False", "NoPods", "the Job does not exist yet"), id="no job"
        ),
        pytest.param(
            "PodsScheduled",
            Observed(job=RUNNING),
            ("False", "Scheduling", "0 of 4 pods have a node; 4 not made yet"),
            id="no pods yet",
        ),
        pytest.param(
            "PodsScheduled",
            Observed(job=RUNNING, pods=pods(3), pod_refusal='pods "hpc-…" is forbidden: exceeded quota: q'),
            (
                "False",
                "Refused",
                (
                    '3 of 4 pods have a node; 1 cannot be made: pods "hpc-…" is forbidden: exceeded quota: q'
                    " (it is tried again)"
                ),
            ),
            id="a pod is refused",
        ),
        pytest.param(
            "PodsScheduled",
            Observed(job=RUNNING, pods=pods(), pod_refusal="exceeded quota: q"),
            ("True", "AllScheduled", "4 of 4 pods have a node"),
            id="a refusal that is over",
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
            Observed(job=RUNNING, pods=pods(), unreachable_reason="the lead API does not answer"),
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
            Observed(
                job=ended("Failed", "PodFailurePolicy"), pods=(pod(0, exit_code=137, out_of_memory=True),)
            ),
            (
                "True",
                "CommandFailed",
                f"the main command ended with exit code 137; {KILLED}",
            ),
            id="killed for memory",
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
            Observed(job=RUNNING, pods=pods()),
            ("False", "AtSize", "the MiniCluster has its size of 4"),
            id="at its size",
        ),
        pytest.param(
            "Resizing",
            Observed(job=RUNNING, pods=(*pods(2), PodReport(2), PodReport(3))),
            ("False", "AtSize", "its Job has the size of 4, and 2 of 4 pods have a node"),
            id="at its size, without nodes",
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
    refusals = (ApplyRefusal(ObjectKey("Job", "hpc"), "exceeded quota: pods, used 10, limited 10"),)
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
    status = {"resize": {"phase": "Growing", "startedAt": "2026-03-14T15:09:26Z", "to": 4}}
    observed = Observed(job=JobReport(parallelism=4, active=active))
    assert condition(decide(make, keys, now, observed, status=status), "Resizing")["reason"] == expected


def test_every_condition_is_there(make, keys, now):
    """A status always has all conditions, in one order, each explained and about this generation.

    But for those about an autoscaler and bursts that nobody has asked for.
    """
    found = decide(make, keys, now, Observed()).status["conditions"]
    always = [type_ for type_ in ConditionType if type_ not in SELDOM]
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
