"""The autoscaler that a document asks for: what it is like, when there is one, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minicluster.plan import (
    ApplyRefusal,
    BrokerReport,
    JobCondition,
    JobReport,
    ObjectKey,
    Observed,
    ObservedObject,
    PodReport,
    Site,
    plan,
    refuse,
)
from minicluster.plan.constants import FINALIZER
from minicluster.plan.objects import objects
from tests.plan.conftest import UID
from tests.plan.test_shrinking import KEYS

KEY = ObjectKey("HorizontalPodAutoscaler", "hpc")
OURS = ObservedObject(KEY, UID, "MiniCluster hpc")
THEIRS = ObservedObject(KEY, "", "")
RUNS = JobReport(2, active=2)
WANTED: dict[str, Any] = {"size": 2, "maxSize": 8, "autoscaling": {}}


@pytest.fixture
def decide(make, now):
    """Decide about a MiniCluster of this spec, whose autoscaler (None: none) and Job were seen."""

    def about(wanted, scaler=OURS, job=RUNS, status=None, site=None, metadata=None, **seen):
        cluster = make(wanted, status=status, **(metadata or {}))
        found = tuple(each for each in (scaler,) if each)
        return plan(cluster, Observed(found, job=job, **seen), site or Site(), KEYS, now)

    return about


def built(decided):
    """The autoscaler that a plan applies, None where it applies none."""
    return next((each for each in decided.objects if each["kind"] == KEY.kind), None)


def autoscaling_condition(decided, type_="Autoscaling"):
    """Status, reason and message of a condition, None where it is not told."""
    found = (each for each in decided.status["conditions"] if each["type"] == type_)
    return next(((each["status"], each["reason"], each["message"]) for each in found), None)


def test_the_whole_of_it(decide):
    """An Object metric of the MiniCluster itself, quick up and slow down."""
    scaler = built(decide(WANTED))
    itself = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "name": "hpc"}
    assert (scaler["apiVersion"], scaler["metadata"]["name"]) == ("autoscaling/v2", "hpc")
    assert [each["uid"] for each in scaler["metadata"]["ownerReferences"]] == [UID]
    assert scaler["spec"] == {
        "scaleTargetRef": itself,
        "minReplicas": 1,
        "maxReplicas": 8,
        "metrics": [
            {
                "type": "Object",
                "object": {
                    "describedObject": itself,
                    "metric": {"name": "flux_nodes_demanded"},
                    "target": {"type": "AverageValue", "averageValue": "1"},
                },
            }
        ],
        "behavior": {
            "scaleUp": {
                "stabilizationWindowSeconds": 0,
                "selectPolicy": "Max",
                "policies": [
                    {"type": "Percent", "value": 100, "periodSeconds": 15},
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                ],
            },
            "scaleDown": {
                "stabilizationWindowSeconds": 300,
                "selectPolicy": "Max",
                "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
            },
        },
    }


def test_it_is_made_last(decide):
    """Nothing needs it."""
    assert decide(WANTED).objects[-1]["kind"] == KEY.kind


def test_where_it_can_be_computed_it_is_exact(decide):
    """Else a difference of a tenth would not count."""
    behavior = built(decide(WANTED, site=Site(scaling_tolerance=True)))["spec"]["behavior"]
    assert [behavior[way]["tolerance"] for way in ("scaleUp", "scaleDown")] == ["0", "0"]


@pytest.mark.parametrize(
    ("wanted", "bounds"),
    [
        pytest.param({"size": 3}, (1, 3), id="without maxSize the size at start"),
        pytest.param({"size": 3, "maxSize": 8}, (1, 8), id="maxSize"),
        pytest.param({"size": 3, "minSize": 2, "maxSize": 8}, (2, 8), id="minSize"),
        pytest.param({"size": 3, "autoscaling": {"minSize": 2, "maxSize": 3}}, (2, 3), id="its own"),
    ],
)
def test_bounds(decide, wanted, bounds):
    """Its own bounds, else the document's."""
    found = built(decide({"autoscaling": {}, **wanted}))["spec"]
    assert (found["minReplicas"], found["maxReplicas"]) == bounds


def test_without_max_size_it_may_grow_again(decide):
    """After a shrink the size at start still counts, and not the size as it is now."""
    shrunk = {"size": 1, "autoscaling": {}}
    assert built(decide(shrunk, status={"maximumSize": 4}))["spec"]["maxReplicas"] == 4


def test_its_behavior_in_the_document_counts(decide):
    """The rest is as by default."""
    rules = {
        "stabilizationWindowSeconds": 20,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}],
    }
    found = built(decide({**WANTED, "autoscaling": {"behavior": {"scaleDown": rules}}}))["spec"]["behavior"]
    assert found["scaleDown"] == {**rules, "selectPolicy": "Max"}
    assert found["scaleUp"]["stabilizationWindowSeconds"] == 0


SUSPENDED = JobReport(2, suspended=True)
ENDED = JobReport(2, conditions=(JobCondition("Complete"),))
NO_MORE = {
    "taken out": ({"autoscaling": None}, RUNS, None),
    "to be suspended": ({"suspend": True}, RUNS, "HeldBack"),
    "suspended": ({"suspend": True}, SUSPENDED, "HeldBack"),
    "held back by Kueue": ({"jobLabels": {"kueue.x-k8s.io/queue-name": "q"}}, SUSPENDED, "HeldBack"),
    "ended": ({}, ENDED, "Finished"),
}


@pytest.mark.parametrize(("wanted", "job", "reason"), NO_MORE.values(), ids=NO_MORE)
def test_without_a_queue_to_follow_there_is_none(decide, wanted, job, reason):
    """One that is there is deleted, and the condition says why."""
    decided = decide({**WANTED, **wanted}, job=job)
    assert (built(decided), decided.delete) == (None, (KEY,))
    assert (autoscaling_condition(decided) or (None, None))[1] == reason


@pytest.mark.parametrize(("wanted", "job", "reason"), NO_MORE.values(), ids=NO_MORE)
def test_somebody_elses_is_never_deleted(decide, wanted, job, reason):
    """Neither."""
    assert decide({**WANTED, **wanted}, THEIRS, job).delete == ()


def test_while_it_is_saved_for_its_suspension_there_is_none(decide):
    """The queue stops then: the autoscaler would shrink what is being saved."""
    wanted = {**WANTED, "suspend": True, "archive": {"path": "/a.tgz"}}
    lead = PodReport(0, "Running", scheduled=True)
    decided = decide(
        wanted, pods=(lead,), brokers=BrokerReport("0-1", running=True), site=Site(lead_api=True)
    )
    assert [order.action for order in decided.orders] == ["save"]
    assert (built(decided), decided.delete) == (None, (KEY,))


def test_while_it_is_saved_for_its_deletion_there_is_none(decide):
    """As above."""
    about = {"finalizers": [FINALIZER], "deletionTimestamp": "2026-03-14T15:09:26Z"}
    decided = decide({**WANTED, "archive": {"path": "/a.tgz"}}, site=Site(lead_api=True), metadata=about)
    assert (decided.objects, decided.delete) == ((), (KEY,))


def test_somebody_elses_keeps_nothing_else_back(decide):
    """It is left alone, and told of."""
    decided = decide(WANTED, replace(THEIRS, owner="Deployment web"))
    assert built(decided) is None
    assert [each["kind"] for each in decided.objects][-1] == "Job"
    advice = "take spec.autoscaling out of the document, or delete the other one"
    whose = "HorizontalPodAutoscaler hpc belongs to Deployment web"
    assert autoscaling_condition(decided) == ("False", "NameTaken", f"{whose}: {advice}")
    assert autoscaling_condition(decided, "ResourcesCreated")[1] == "Creating"
    assert autoscaling_condition(decided, "Resizing")[1] == "AtSize"


def test_that_it_was_refused_is_reported_of_it_alone(decide):
    """The brokers' objects were made."""
    refusal = ApplyRefusal(KEY, "admission webhook denied the request: no autoscalers")
    decided = decide(WANTED, None, refusals=(refusal,))
    assert autoscaling_condition(decided)[:2] == ("False", "Refused")
    assert refusal.message in autoscaling_condition(decided)[2]
    assert autoscaling_condition(decided, "ResourcesCreated")[1] == "Creating"


def test_it_is_reported_before_it_exists_and_then(decide):
    """What it follows, and how far."""
    assert autoscaling_condition(decide(WANTED, None))[:2] == ("False", "Creating")
    assert autoscaling_condition(decide(WANTED)) == (
        "True",
        "Following",
        "the size follows flux_nodes_demanded, from 1 to 8",
    )


def test_nothing_asked_nothing_reported(decide):
    """There is no condition of it."""
    assert autoscaling_condition(decide({"size": 2}, None)) is None


@pytest.mark.parametrize("asked", [True, False])
def test_a_document_that_became_invalid_changes_nothing_of_it(decide, make, now, asked):
    """What was said of it stays; where nothing was, nothing is."""
    before = decide({**WANTED, "autoscaling": {} if asked else None})
    cluster = make(WANTED, status=before.status)
    assert autoscaling_condition(refuse(cluster.status, 2, "size: no", now)) == autoscaling_condition(before)


@pytest.mark.parametrize(("wanted", "names"), [(WANTED, ()), ({**WANTED, "suspend": True}, (KEY,))])
def test_what_is_not_wanted_is_not_in_the_way(make, wanted, names):
    """Whoever has it."""
    assert objects.unwanted(make(wanted)) == names
