"""Every form of request, and the whole body of its answer, as written in golden/."""

import asyncio
import json
from pathlib import Path

import pytest

from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.objects import Objects
from metrics_api.answers.queries import DocumentQuery
from metrics_api.names import ADDS, BY_NAME
from tests.metrics_api.adapter.scene import DEMAND, SERVED, Leads, Scene

GOLDEN = Path(__file__).with_name("golden")
V1, V2 = "/apis/custom.metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
CLUSTER = "namespaces/team/miniclusters.flux-framework.org"
AGGREGATED = "aggregated"
PODS = {"labelSelector": "hpa-selector=small"}

REQUESTS: dict[str, tuple[str, dict[str, str]]] = {
    "apis": ("/apis", {}),
    "group-custom": ("/apis/custom.metrics.k8s.io", {}),
    "group-external": ("/apis/external.metrics.k8s.io", {}),
    "resources-custom-v1beta1": (V1, {}),
    "resources-custom-v1beta2": (V2, {}),
    "resources-external": (EXTERNAL, {}),
    "minicluster": (f"{V2}/{CLUSTER}/small/flux_nodes_demanded", {}),
    "minicluster-v1beta1": (f"{V1}/{CLUSTER}/small/flux_nodes_demanded", {}),
    "minicluster-fraction": (f"{V2}/{CLUSTER}/small/flux_oldest_wait_seconds", {}),
    "minicluster-one-label": (
        f"{V2}/{CLUSTER}/small/flux_jobs",
        {"metricLabelSelector": "state=sched"},
    ),
    "minicluster-one-label-v1beta1": (
        f"{V1}/{CLUSTER}/small/flux_jobs",
        {"metricLabelSelector": "state=sched"},
    ),
    "minicluster-set-of-labels": (
        f"{V2}/{CLUSTER}/small/flux_queue_jobs_pending",
        {"metricLabelSelector": "queue in (batch,debug),!group"},
    ),
    "minicluster-all-labels-add-up": (f"{V2}/{CLUSTER}/small/flux_jobs", {}),
    "minicluster-of-waits-the-longest": (f"{V2}/{CLUSTER}/small/flux_queue_oldest_wait_seconds", {}),
    "miniclusters-all": (f"{V2}/{CLUSTER}/*/flux_nodes_demanded", {}),
    "miniclusters-all-encoded": (f"{V2}/{CLUSTER}/%2A/flux_nodes_demanded", {}),
    "miniclusters-selected": (f"{V2}/{CLUSTER}/*/flux_nodes_demanded", {"labelSelector": "team=blue"}),
    "service": (f"{V2}/namespaces/team/services/small/flux_nodes_demanded", {}),
    "service-v1beta1": (f"{V1}/namespaces/team/services/small/flux_nodes_demanded", {}),
    "services-all": (f"{V2}/namespaces/team/services/*/flux_nodes_demanded", {}),
    "pods": (f"{V2}/namespaces/team/pods/*/flux_nodes_demanded", PODS),
    "pods-v1beta1": (f"{V1}/namespaces/team/pods/%2a/flux_nodes_demanded", PODS),
    "pods-waits-are-not-shared": (f"{V2}/namespaces/team/pods/*/flux_oldest_wait_seconds", PODS),
    "pod": (f"{V2}/namespaces/team/pods/small-1-x/flux_nodes_demanded", {}),
    "namespace": (f"{V2}/namespaces/team/metrics/flux_nodes_demanded", {}),
    "namespace-v1beta1": (f"{V1}/namespaces/team/metrics/flux_nodes_demanded", {}),
    "namespace-of-waits-the-longest": (f"{V2}/namespaces/team/metrics/flux_oldest_wait_seconds", {}),
    "namespace-labels": (
        f"{V2}/namespaces/team/metrics/flux_jobs",
        {"metricLabelSelector": "state!=run"},
    ),
    "external": (f"{EXTERNAL}/namespaces/team/flux_nodes_demanded", {}),
    "external-minicluster": (
        f"{EXTERNAL}/namespaces/team/flux_nodes_demanded",
        {"labelSelector": "minicluster=small"},
    ),
    "external-minicluster-and-queue": (
        f"{EXTERNAL}/namespaces/team/flux_queue_jobs_pending",
        {"labelSelector": "minicluster=small,queue=batch"},
    ),
    "unknown-metric": (f"{V2}/{CLUSTER}/small/flux_nonsense", {}),
    "unknown-metric-external": (f"{EXTERNAL}/namespaces/team/flux_nonsense", {}),
    "unknown-minicluster": (f"{V2}/{CLUSTER}/none/flux_nodes_demanded", {}),
    "unknown-service": (f"{V2}/namespaces/team/services/none/flux_nodes_demanded", {}),
    "unknown-pod": (f"{V2}/namespaces/team/pods/none/flux_nodes_demanded", {}),
    "unknown-resource": (f"{V2}/namespaces/team/deployments.apps/small/flux_nodes_demanded", {}),
    "unknown-namespace": (f"{V2}/namespaces/none/metrics/flux_nodes_demanded", {}),
    "unknown-namespace-external": (f"{EXTERNAL}/namespaces/none/flux_nodes_demanded", {}),
    "selector-matches-nothing": (f"{V2}/{CLUSTER}/*/flux_nodes_demanded", {"labelSelector": "team=red"}),
    "selector-matches-no-pod": (
        f"{V2}/namespaces/team/pods/*/flux_nodes_demanded",
        {"labelSelector": "hpa-selector=none"},
    ),
    "selector-matches-no-label": (
        f"{V2}/{CLUSTER}/small/flux_jobs",
        {"metricLabelSelector": "state=inactive"},
    ),
    "selector-matches-nothing-external": (
        f"{EXTERNAL}/namespaces/team/flux_nodes_demanded",
        {"labelSelector": "minicluster=none"},
    ),
    "selector-that-is-none": (f"{V2}/{CLUSTER}/*/flux_nodes_demanded", {"labelSelector": "a in b"}),
    "unknown-path": (f"{V2}/{CLUSTER}", {}),
    "unknown-version": ("/apis/custom.metrics.k8s.io/v1/namespaces/team/metrics/flux_jobs", {}),
    "lead-away": (f"{V2}/namespaces/away/miniclusters.flux-framework.org/far/flux_nodes_demanded", {}),
    "lead-away-of-one-in-a-sum": (f"{V2}/namespaces/away/metrics/flux_nodes_demanded", {}),
    "lead-away-external": (f"{EXTERNAL}/namespaces/away/flux_nodes_demanded", {}),
    "lead-does-not-run": (
        f"{V2}/namespaces/starting/miniclusters.flux-framework.org/young/flux_nodes_demanded",
        {},
    ),
    "suspended": (f"{V2}/namespaces/resting/miniclusters.flux-framework.org/idle/flux_nodes_demanded", {}),
    "suspended-has-no-part-in-a-sum": (f"{V2}/namespaces/resting/metrics/flux_nodes_demanded", {}),
}


def scene() -> Scene:
    """Return two MiniClusters of one name in two namespaces, a second one beside it, and faults elsewhere."""
    other = [(name, labels, 2 * value) for name, labels, value in DEMAND]
    found = (
        Scene().has("small", 3, team="blue").has("large", 2, numbers=other).has("small", namespace="other")
    )
    found.has("near", namespace="away").has("far", namespace="away", numbers=None)
    found.has("young", 0, "starting", numbers=None, phase="Starting")
    return found.has("busy", namespace="resting").has("idle", 0, "resting", numbers=None, phase="Suspended")


@pytest.mark.parametrize("case", REQUESTS)
def test_the_answer_is_as_written(case: str, request: pytest.FixtureRequest) -> None:
    path, parameters = REQUESTS[case]
    code, body = asyncio.run(scene().get(path, **parameters))
    written = {"request": {"path": path, **parameters}, "code": code, "body": body}
    file = GOLDEN / f"{case}.json"
    if request.config.getoption("--golden-write"):
        file.write_text(json.dumps(written, indent=1) + "\n")
    assert written == json.loads(file.read_text())


def test_all_that_is_served_in_one_document_is_as_written(request: pytest.FixtureRequest) -> None:
    """The API server asks for it in this form first."""
    found = asyncio.run(Evaluation(Objects(), Leads(), SERVED).answer(DocumentQuery(aggregated=True)))
    file = GOLDEN / f"{AGGREGATED}.json"
    if request.config.getoption("--golden-write"):
        file.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(file.read_text())


def test_every_metric_of_the_table_is_served() -> None:
    assert set(ADDS) == set(BY_NAME)


def test_there_is_no_golden_file_without_a_case() -> None:
    assert {file.stem for file in GOLDEN.glob("*.json")} == {*REQUESTS, AGGREGATED}
