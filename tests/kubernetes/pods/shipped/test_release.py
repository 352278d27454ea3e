"""What is handed out, on real nodes: the chart with its defaults, whose pods run the image of containers/."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import ControlPlane, shipped_images, until
from tests.devcluster.nodes import wait_ready
from tests.devcluster.release import NAME, NAMESPACE, PODS, Release
from tests.kubernetes import adapters
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.releases import logs

pytestmark = pytest.mark.timeout(900)
HELLO = Path(__file__).parents[4] / "examples" / "hello-world" / "minicluster.yaml"
WRITTEN = {f"Hello from task {rank} of 4" for rank in range(4)}


def containers(nodes: ControlPlane) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each container of the release, as it was asked for and as it is."""
    pods = nodes.api.items(PODS)
    return [(pod["spec"]["containers"][0], pod["status"]["containerStatuses"][0]) for pod in pods]


def test_two_operators_and_the_adapter_run_under_restricted(release: Release, nodes: ControlPlane) -> None:
    """With the limits of the chart, and a root file system that they cannot write to."""
    label = nodes.api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert label["pod-security.kubernetes.io/enforce"] == "restricted"
    found = containers(nodes)
    assert sorted(asked["name"] for asked, _ in found) == ["adapter", "operator", "operator"]
    for asked, _ in found:
        assert asked["image"] == f"{shipped_images.IN_REGISTRY}:{shipped_images.version()}"
        assert asked["securityContext"]["readOnlyRootFilesystem"] is True
        assert asked["resources"]["limits"] == {"cpu": "1", "memory": "512Mi"}


def leader(nodes: ControlPlane) -> str:
    """Return the pod whose operator leads; empty where none does."""
    lease = nodes.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}")
    holder = lease["spec"].get("holderIdentity") or ""
    names = [pod["metadata"]["name"] for pod in nodes.api.items(PODS)]
    return next((name for name in names if holder.startswith(name)), "")


def test_one_of_the_operators_leads(release: Release, nodes: ControlPlane) -> None:
    assert leader(nodes)


def test_the_adapter_serves_the_metrics_apis(release: Release, nodes: ControlPlane) -> None:
    for name in adapters.APIS:
        adapters.wait_available(nodes.api, name)


def test_flux_comes_from_the_view_that_is_built_here(
    release: Release, nodes: ControlPlane, minicluster: CommandLine, tmp_path: Path
) -> None:
    """The image of Dockerfile.flux-view; and no container of the release has started again."""
    document = yaml.safe_load(HELLO.read_text())
    document["spec"]["flux"] = {"container": {"image": shipped_images.VIEW}}
    (tmp_path / "hello.yaml").write_text(yaml.safe_dump(document))
    done = minicluster("up", tmp_path / "hello.yaml", "--wait")
    assert done.returncode == 0, f"{done.stderr}{logs(nodes)}"
    assert set(minicluster("logs", "hello-world", "--rank", 0).stdout.splitlines()) >= WRITTEN
    assert [state["restartCount"] for _, state in containers(nodes)] == [0, 0, 0]


def test_a_leader_whose_pod_is_deleted_is_followed_by_the_other(
    release: Release, nodes: ControlPlane, live: Live
) -> None:
    """What is asked for meanwhile is done by the next one, and there are two again."""
    former = leader(nodes)
    live.create(interactive=True, size=1, maxSize=2).joined(1)
    nodes.api.delete(f"{PODS}/{former}")
    live.change(size=2)
    live.joined(2)
    assert leader(nodes) not in {"", former}
    release.wait_ready()


def test_a_leader_whose_nodes_kubelet_stops_is_followed_by_another(
    release: Release, nodes: ControlPlane, live: Live
) -> None:
    """Its pod is given up, though it still runs: at any time there is one that does what is asked for."""
    former = leader(nodes)
    placed = nodes.api.get(f"{PODS}/{former}")["spec"]["nodeName"]
    (node,) = [each for each in nodes.nodes if each.name == placed]
    node.stop_kubelet()
    try:
        until(lambda: given_up(nodes, former), "the pod to be given up", SECONDS)
        live.create(interactive=True, size=1).joined(1)
    finally:
        node.start_kubelet()
        wait_ready(nodes.api, [node], nodes.guardian)
    until(lambda: leader(nodes) not in {"", former}, "another one to lead", SECONDS)
    release.wait_ready()


def given_up(nodes: ControlPlane, name: str) -> bool:
    """Return whether a pod was told to go."""
    return "deletionTimestamp" in nodes.api.get(f"{PODS}/{name}")["metadata"]
