"""The lead of a MiniCluster on real nodes serves custom metrics itself, as examples/autoscaling has it."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.devcluster import ControlPlane, until
from tests.kubernetes import adapters
from tests.kubernetes.adapters import AGGREGATED_BY, API_SERVICES, APIS, V2
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live
from tests.lead.keys import Authority

pytestmark = pytest.mark.timeout(600)
EXAMPLE = Path(__file__).parents[3] / "examples/autoscaling/custom-metrics.yaml"
NAME, SECRET = "autoscaled", "autoscaled-metrics"
PROXY = ("requestheader-client-ca-file", "requestheader-allowed-names")
RANGE = {"size": 1, "minSize": 1, "maxSize": 3}
AT_ONCE = {"scaleDown": {"stabilizationWindowSeconds": 0}}


@pytest.fixture
def cluster(live: Live, nodes: ControlPlane, tmp_path: Path) -> Iterator[Live]:
    """A MiniCluster of the example's name; the API server asks its lead, and there is no adapter."""
    api, found = live.api, replace(live, name=NAME)
    host = f"{SECRET}.{live.namespace}.svc"
    Authority().issue(tmp_path, host)
    data = {name: (tmp_path / name).read_text() for name in ("tls.crt", "tls.key")}
    data |= {name: api.get(AGGREGATED_BY)["data"][name] for name in PROXY}
    secret = {"metadata": {"name": SECRET}, "stringData": {**data, "apis-host": host}}
    api.create(f"/api/v1/namespaces/{live.namespace}/secrets", secret)
    found.create(interactive=True, autoscaling={"tlsSecret": SECRET, "behavior": AT_ONCE}, **RANGE)
    found.joined(1)
    bundle = base64.b64encode((tmp_path / "ca.crt").read_bytes()).decode()
    try:
        for item in yaml.safe_load_all(EXAMPLE.read_text().replace("default", live.namespace)):
            if item["kind"] == "Service":
                api.create(f"/api/v1/namespaces/{live.namespace}/services", item)
            else:
                item["spec"] |= {"caBundle": bundle}
                api.create(API_SERVICES, item)
                adapters.wait_available(api, item["metadata"]["name"])
        yield found
    finally:
        adapters.withdraw(api, *APIS)


def test_a_cluster_with_one_minicluster_needs_no_adapter(cluster: Live, nodes: ControlPlane) -> None:
    """Three jobs that take a node each make it grow to three, and it shrinks to one when they are done."""
    value = f"{V2}/namespaces/{cluster.namespace}/miniclusters.flux-framework.org/{NAME}/flux_nodes_demanded"
    assert cluster.api.get(value)["items"][0]["value"] == "1"
    minicluster = CommandLine(nodes.kubeconfig, cluster.namespace)

    def flux(*words: str) -> str:
        done = minicluster.process("shell", NAME, "--", "flux", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    jobs = flux("submit", "--cc=1-3", "-N1", "--exclusive", "sleep", "inf").split()
    until(lambda: flux("jobs", "-no", "{state}").split() == ["RUN"] * 3, "all three to run", SECONDS)
    assert cluster.api.get(value)["items"][0]["value"] == "3"
    assert cluster.status["size"] == 3
    flux("cancel", *jobs)
    cluster.until(Resizing=("False", "AtSize"))
    until(lambda: cluster.status["size"] == 1 and cluster.pods.by_rank().keys() == {0}, "one pod", SECONDS)
