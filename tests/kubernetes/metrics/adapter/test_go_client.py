"""The metrics adapter behind a real API server, asked by Kubernetes' own client library."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import Api, ControlPlane
from tests.kubernetes import adapters
from tests.kubernetes.adapters import V2, Adapter
from tests.kubernetes.metrics.adapter.asked import known
from tests.metrics_api.adapter.played import Leads


class TestGoClient:
    """Kubernetes' own client library reads what is served."""

    @pytest.mark.parametrize("kind", ["MiniCluster.flux-framework.org", "Service", "Pod"])
    def test_objects(
        self,
        metrics_client: Path,
        metrics_plane: ControlPlane,
        adapter: Adapter,
        api: Api,
        namespace: str,
        leads: Leads,
        kind: str,
    ) -> None:
        adapters.cluster(api, leads, namespace).serve_samples(NUMBERS)
        known(api, f"{V2}/namespaces/{namespace}/services/mc/flux_jobs")
        name, wanted = ("mc-0", "22500m") if kind == "Pod" else ("mc", "45")
        found = ask(metrics_client, metrics_plane, "object", kind, namespace, name, "flux_jobs")
        assert found["describedObject"]["kind"] == kind.partition(".")[0]
        assert (found["metric"]["name"], found["value"]) == ("flux_jobs", wanted)
        words = ("object", kind, namespace, name, "flux_jobs", "state in (run)")
        assert ask(metrics_client, metrics_plane, *words)["value"] in {"5", "2500m"}

    def test_objects_by_a_selector(
        self,
        metrics_client: Path,
        metrics_plane: ControlPlane,
        adapter: Adapter,
        api: Api,
        namespace: str,
        leads: Leads,
    ) -> None:
        adapters.cluster(api, leads, namespace).serve_samples(NUMBERS)
        known(api, f"{V2}/namespaces/{namespace}/services/mc/flux_jobs")
        words = ("objects", "Pod", namespace, "hpa-selector=mc", "flux_nodes_demanded")
        found = ask(metrics_client, metrics_plane, *words)
        assert [each["value"] for each in found["items"]] == ["1500m", "1500m"]

    def test_a_namespace_and_external_metrics(
        self,
        metrics_client: Path,
        metrics_plane: ControlPlane,
        adapter: Adapter,
        api: Api,
        namespace: str,
        leads: Leads,
    ) -> None:
        adapters.cluster(api, leads, namespace).serve_samples(NUMBERS)
        known(api, f"{V2}/namespaces/{namespace}/services/mc/flux_jobs")
        found = ask(metrics_client, metrics_plane, "namespace", namespace, "flux_nodes_demanded")
        assert (found["describedObject"]["name"], found["value"]) == (namespace, "3")
        words = ("external", namespace, "flux_jobs", "minicluster=mc,state=sched")
        [item] = ask(metrics_client, metrics_plane, *words)["items"]
        assert (item["metricLabels"], item["value"]) == ({"minicluster": "mc", "state": "sched"}, "40")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("object", "Service", "{}", "none", "flux_jobs"), "NotFound: there is no Service 'none'"),
            (("object", "Service", "{}", "mc", "flux_none"), "NotFound: there is no metric 'flux_none'"),
            (("external", "{}", "flux_jobs"), "NotFound: no MiniCluster with a queue in"),
        ],
        ids=["object", "metric", "external"],
    )
    def test_errors(
        self,
        metrics_client: Path,
        metrics_plane: ControlPlane,
        adapter: Adapter,
        namespace: str,
        words: tuple[str, ...],
        message: str,
    ) -> None:
        asked = [word.format(namespace) for word in words]
        answer = client(metrics_client, metrics_plane, *asked)
        assert answer.returncode == 1
        assert message in answer.stderr


NUMBERS = [
    ("flux_nodes_demanded", {}, 3.0),
    ("flux_jobs", {"state": "run"}, 5.0),
    ("flux_jobs", {"state": "sched"}, 40.0),
]


def ask(program: Path, plane: ControlPlane, *words: str) -> dict[str, Any]:
    """Return what the Go client got."""
    answer = client(program, plane, *words)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def client(program: Path, plane: ControlPlane, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the Go client as the administrator."""
    environment = {"KUBECONFIG": str(plane.kubeconfig)}
    return subprocess.run(
        [program, *words], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
