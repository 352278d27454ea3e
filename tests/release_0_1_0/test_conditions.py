"""What 0.1.0 kept in conditions is read once; from the fields made of it come the same conditions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minicluster import document
from minicluster.plan.constants import ConditionType
from minicluster.plan.records import Saving
from minicluster.plan.status import lead_loss, node_loss, release_0_1_0, resizing, saves
from tests.release_0_1_0.adapters import DATA

CASES: list[dict[str, Any]] = json.loads((DATA / "conditions.json").read_text())
IDS = [f"{number} {each['condition']['reason']}" for number, each in enumerate(CASES)]


def stored(case: dict[str, Any], **status: Any) -> document.MiniCluster:
    """Return the MiniCluster as 0.1.0 stored it."""
    about = {"name": "hpc", "namespace": "science", "generation": 1}
    if case["deleted"]:
        about["deletionTimestamp"] = case["condition"]["lastTransitionTime"]
    known = {"size": case["size"], "lastDump": case["lastDump"], "conditions": [case["condition"]]}
    named = {"apiVersion": document.API_VERSION, "kind": document.KIND, "metadata": about}
    return document.validate({**named, "spec": case["spec"], "status": {**known, **status}})


def shown(cluster: document.MiniCluster, type_: str) -> tuple[str, str, str]:
    """Return reason, message and time of a condition made from fields; of a message in parts the last one."""
    status = cluster.status
    if type_ == ConditionType.RESIZING:
        value = resizing.condition(status.resize, status.restarted_jobs, cluster)
    elif type_ == ConditionType.SUSPENDED:
        value = saves.condition(Saving(status=status.save), cluster)
    elif type_ == ConditionType.BROKERS_READY:
        return "", node_loss.sentence(status.node_loss, status.restarted_jobs), ""
    elif status.lead_loss and status.lead_loss.is_over:
        return "", lead_loss.note(status.lead_loss, cluster), ""
    else:
        value = lead_loss.condition(status.lead_loss, cluster, "")
    assert value is not None
    return value.reason, value.message, value.since.strftime("%Y-%m-%dT%H:%M:%SZ") if value.since else ""


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_same_condition_is_made_of_the_fields(case: dict[str, Any]) -> None:
    condition = case["condition"]
    migrated = release_0_1_0.migrated(stored(case))
    reason, message, since = shown(migrated, condition["type"])
    expected, _, pods = condition["message"].rpartition("; ")
    if reason == "LeadLost":
        assert pods.endswith("pods run")
        expected = f"{expected}; "
    else:
        expected = condition["message"]
    assert message if reason == "" else message == expected
    assert expected.endswith(message)
    assert reason in {"", condition["reason"]}
    assert since in {"", condition["lastTransitionTime"]}


def test_every_kind_of_memory_is_there() -> None:
    kinds = {(each["condition"]["type"], each["condition"]["reason"]) for each in CASES}
    reasons = {"Saving", "SaveFailed", "Saved", "NotSaved"}
    assert {reason for type_, reason in kinds if type_ == "Suspended"} == reasons
    assert {reason for type_, reason in kinds if type_ == "Resizing"} == {
        "Growing",
        "Draining",
        "DrainTimedOut",
        "JobsRestarted",
        "Shrinking",
    }
    assert {("BrokersReady", "JobsRestarted"), ("Running", "LeadLost")} <= kinds


@pytest.mark.parametrize("reworded", ["", "something else"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_fields_that_are_there_are_not_read_again(case: dict[str, Any], reworded: str) -> None:
    """From the second plan on the conditions are what they are to people."""
    first = release_0_1_0.migrated(stored(case))
    condition = first.status.conditions[0].model_copy(update={"message": reworded})
    second = first.model_copy(update={"status": first.status.model_copy(update={"conditions": (condition,)})})
    assert release_0_1_0.migrated(second) is second


@pytest.mark.parametrize("reason", ["Suspended", "NotSuspended", "Queued"])
def test_what_is_at_rest_has_no_memory(reason: str) -> None:
    about = {
        "type": "Suspended",
        "status": "False",
        "reason": reason,
        "lastTransitionTime": "2026-03-14T15:09:26Z",
    }
    case = {
        **CASES[0],
        "condition": {**about, "message": "saving to x before its pods go: waiting for 1 job"},
    }
    cluster = stored(case)
    assert release_0_1_0.migrated(cluster) is cluster
