"""From the API server's objects to the records that are decided on."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from minicluster.kube_client.api import APPLY_MANAGER
from minicluster.lead_client import broker_pods
from minicluster.operator import observation
from minicluster.plan import JobCondition, JobReport, ObjectKey, ObservedObject, PodReport
from minicluster.plan.constants import LABEL_POD_INDEX
from tests.operator.objects import Object, broker, job, owned

OWNED = {"f:spec": {"f:parallelism": {}, "f:completions": {}}}


def entry(manager: str = APPLY_MANAGER, fields: Object = OWNED, **more: str) -> Object:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


def managed(*entries: Object) -> observation.Dependent:
    item = owned("Service")
    item["metadata"]["managedFields"] = list(entries)
    return observation.dependent("Service", item)


def test_a_dependent_reports_what_it_is_and_whose() -> None:
    found = observation.dependent("Job", job(version=42))
    assert (found.key, found.version, found.instance) == (ObjectKey("Job", "mc"), 42, "mc")
    assert found.observed() == ObservedObject(ObjectKey("Job", "mc"), "uid-mc", "MiniCluster mc")


def test_an_owner_that_does_not_control_is_none() -> None:
    item = job()
    item["metadata"]["ownerReferences"] = [{"kind": "Queue", "name": "q", "uid": "uid-q"}]
    assert observation.dependent("Job", item).observed() == ObservedObject(ObjectKey("Job", "mc"), "", "")


@pytest.mark.parametrize("missing", ["labels", "ownerReferences", "managedFields", "annotations"])
def test_metadata_may_be_bare(missing: str) -> None:
    """What is empty the server leaves out."""
    item = job()
    item["metadata"].pop(missing, None)
    assert observation.dependent("Job", item).key == ObjectKey("Job", "mc")


OURS = managed(entry())
HOLDS: dict[str, tuple[observation.Dependent, bool, bool]] = {
    "all ours": (managed(entry()), True, False),
    "a status is nobody's business": (managed(entry(), entry("kube", subresource="status")), True, False),
    "somebody else holds a label": (managed(entry(), entry("kubectl", {"f:metadata": {}})), True, True),
    "somebody else took a field": (
        managed(entry(fields={"f:spec": {"f:completions": {}}}), entry("kubectl", {"f:spec": {}})),
        False,
        True,
    ),
    "somebody else holds it all": (managed(entry("kubectl")), False, True),
}


@pytest.mark.parametrize(("found", "all_owned", "shared"), HOLDS.values(), ids=HOLDS)
def test_who_holds_the_fields(found: observation.Dependent, all_owned: bool, shared: bool) -> None:
    assert (found.owned_fields == OURS.owned_fields, found.shared) == (all_owned, shared)


def test_the_order_of_fields_does_not_matter() -> None:
    other = {"f:spec": {"f:completions": {}, "f:parallelism": {}}}
    assert managed(entry(fields=other)).owned_fields == OURS.owned_fields


def test_an_object_that_goes_reports_it() -> None:
    item = job()
    item["metadata"]["deletionTimestamp"] = "2026-03-14T15:09:26Z"
    assert observation.dependent("Job", item) == replace(observation.dependent("Job", job()), going=True)


def test_a_stamp_is_a_digest_of_the_content() -> None:
    """The same content has the same stamp, other content another one; the content itself is left alone."""
    stamps = [
        observation.stamped(item)["metadata"]["annotations"][observation.ANNOTATION_DIGEST]
        for item in (job(), job(), job(parallelism=3))
    ]
    assert stamps[0] == stamps[1] != stamps[2]


def test_a_stamp_is_found_again() -> None:
    item = observation.stamped(job())
    stamp = item["metadata"]["annotations"][observation.ANNOTATION_DIGEST]
    assert observation.dependent("Job", item).applied == stamp


def test_a_stamp_leaves_other_annotations() -> None:
    item = job()
    item["metadata"]["annotations"] = {"a": "b"}
    assert observation.stamped(item)["metadata"]["annotations"]["a"] == "b"
    assert item["metadata"]["annotations"] == {"a": "b"}


def fields_of_ours() -> Object:
    """Return what managedFields say of an applied Service."""
    ports = {'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}}
    owners = {'k:{"uid":"uid-mc"}': {}}
    about = {"f:labels": {"f:a": {}}, "f:ownerReferences": owners}
    return {"f:metadata": about, "f:spec": {"f:ports": ports, "f:selector": {}, "f:clusterIP": {}}}


APPLIED: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "mc",
        "namespace": "science",
        "labels": {"a": "b"},
        "ownerReferences": [{"uid": "uid-mc"}],
    },
    "spec": {"ports": [{"port": 1, "protocol": "TCP"}], "selector": {"app": "mc"}, "clusterIP": "None"},
}


def test_an_object_has_the_shape_of_what_it_holds() -> None:
    """Lists and atomic maps count as one field; names and kinds are nobody's."""
    found = managed(entry(fields=fields_of_ours()))
    assert found.shape == observation.shape(APPLIED)


LOST = {
    "a value": {"spec": {**APPLIED["spec"], "type": "ClusterIP"}},
    "a label": {"metadata": {**APPLIED["metadata"], "labels": {"a": "b", "c": "d"}}},
    "a list": {"spec": {**APPLIED["spec"], "externalIPs": ["192.0.2.1"]}},
}


@pytest.mark.parametrize("more", LOST.values(), ids=LOST)
def test_an_object_that_lost_a_field_has_another_shape(more: Object) -> None:
    """What is applied has a field that is not held."""
    assert managed(entry(fields=fields_of_ours())).shape != observation.shape({**APPLIED, **more})


def test_two_entries_of_ours_have_one_shape() -> None:
    """What was patched once is held under the same name by another entry."""
    first, second = {"f:metadata": fields_of_ours()["f:metadata"]}, {"f:spec": fields_of_ours()["f:spec"]}
    found = managed(entry(fields=first), entry(fields=second, operation="Update"))
    assert found.shape == observation.shape(APPLIED)


def test_a_job_reports_how_it_is() -> None:
    status = {
        "active": 2,
        "startTime": "2026-03-14T15:09:26Z",
        "conditions": [
            {"type": "Failed", "status": "True", "reason": "PodFailurePolicy", "message": "code 3"}
        ],
    }
    assert observation.job_report(job(parallelism=2, status=status)) == JobReport(
        parallelism=2,
        active=2,
        conditions=(JobCondition("Failed", "True", "PodFailurePolicy", "code 3"),),
        start_time=datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC),
    )


def test_a_new_job_has_no_status() -> None:
    item = job()
    del item["status"]
    assert observation.job_report(item) == JobReport(parallelism=2)


ENDED = {"exitCode": 3, "message": "7\n"}
WAITING = {"reason": "ImagePullBackOff", "message": "no such image"}
STARTING = {"reason": "ContainerCreating"}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available",
}
PODS: dict[str, tuple[Object, PodReport]] = {
    "new": ({}, PodReport(0)),
    "not scheduled": (
        {"conditions": [UNSCHEDULABLE]},
        PodReport(0, reason="Unschedulable", message="0/3 nodes are available"),
    ),
    "scheduled": ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, PodReport(0)),
    "an image that does not come": (
        {"containerStatuses": [{"name": "mc", "state": {"waiting": WAITING}}]},
        PodReport(0, reason="ImagePullBackOff", message="no such image"),
    ),
    "an init container's image that does not come": (
        {"initContainerStatuses": [{"name": "flux-view", "state": {"waiting": WAITING}}]},
        PodReport(0, reason="ImagePullBackOff", message="no such image"),
    ),
    "just starting": ({"containerStatuses": [{"name": "mc", "state": {"waiting": STARTING}}]}, PodReport(0)),
    "running": (
        {"phase": "Running", "containerStatuses": [{"name": "mc", "state": {"running": {}}}]},
        PodReport(0, "Running"),
    ),
    "ended": (
        {"phase": "Failed", "containerStatuses": [{"name": "mc", "state": {"terminated": ENDED}}]},
        PodReport(0, "Failed", exit_code=3, termination_message="7"),
    ),
    "killed for memory": (
        {
            "phase": "Failed",
            "containerStatuses": [
                {"name": "mc", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
            ],
        },
        PodReport(0, "Failed", exit_code=137, out_of_memory=True),
    ),
    "started again after an end": (
        {
            "phase": "Running",
            "containerStatuses": [
                {"name": "mc", "state": {"running": {}}, "lastState": {"terminated": ENDED}}
            ],
        },
        PodReport(0, "Running", exit_code=3, termination_message="7"),
    ),
    "a sidecar's end": (
        {"containerStatuses": [{"name": "database", "state": {"terminated": ENDED}}]},
        PodReport(0),
    ),
    "evicted": (
        {"phase": "Failed", "reason": "Evicted", "message": "low on memory"},
        PodReport(0, "Failed", reason="Evicted", message="low on memory"),
    ),
}


@pytest.mark.parametrize(("status", "report"), PODS.values(), ids=PODS)
def test_what_a_pod_reports(status: Object, report: PodReport) -> None:
    assert broker_pods.pod_report({**broker(0), "status": status}) == report


def test_a_pod_that_was_deleted_is_leaving() -> None:
    pod = broker(0)
    assert not broker_pods.pod_report(pod).leaving
    pod["metadata"]["deletionTimestamp"] = "2026-03-14T15:09:26Z"
    assert broker_pods.pod_report(pod).leaving


def test_a_pod_with_a_node_is_scheduled() -> None:
    pod = broker(0)
    pod["spec"]["nodeName"] = "node-1"
    assert broker_pods.pod_report(pod).scheduled


INDEXES: dict[str, tuple[Any, int]] = {
    "7": ("7", 7),
    "word": ("seven", -1),
    "empty": ("", -1),
    "²": ("²", -1),
}


@pytest.mark.parametrize(("label", "index"), INDEXES.values(), ids=INDEXES)
def test_a_pods_index_is_its_label(label: str, index: int) -> None:
    """Anybody who may make pods can make one with our labels: it must not stop the operator."""
    pod = broker(0)
    pod["metadata"]["labels"][LABEL_POD_INDEX] = label
    assert broker_pods.pod_report(pod).index == index


def test_a_pod_without_labels_has_no_index() -> None:
    pod = broker(0)
    del pod["metadata"]["labels"]
    assert (broker_pods.pod_report(pod).index, broker_pods.is_broker(pod)) == (-1, False)


def older(pod: Object) -> Object:
    pod["metadata"]["creationTimestamp"] = "2026-03-14T15:00:00Z"
    return pod


def newer(pod: Object) -> Object:
    pod["metadata"]["creationTimestamp"] = "2026-03-14T16:00:00Z"
    return pod


def going(pod: Object) -> Object:
    pod["metadata"]["deletionTimestamp"] = "2026-03-14T16:00:00Z"
    return pod


ORDERS: dict[str, tuple[Callable[[], Object], Callable[[], Object]]] = {
    "the one that stays": (lambda: going(newer(broker(version=9))), lambda: older(broker(version=1))),
    "the younger one": (lambda: older(broker(version=9)), lambda: newer(broker(version=1))),
    "of one second the later written": (lambda: newer(broker(version=9)), lambda: newer(broker(version=10))),
}


@pytest.mark.parametrize(("worse", "better"), ORDERS.values(), ids=ORDERS)
def test_which_of_two_pods_counts(worse: Callable[[], Object], better: Callable[[], Object]) -> None:
    assert broker_pods.pod_order(worse()) < broker_pods.pod_order(better())
