"""What is handed out, on real nodes: the chart with its defaults, whose pods run the image of containers/."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import ControlPlane, shipped_images, until
from tests.devcluster.archives import Archive
from tests.devcluster.release import NAME, NAMESPACE, Release
from tests.kubernetes import adapters
from tests.kubernetes.command_line import CommandLine

pytestmark = pytest.mark.timeout(900)
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
HELLO = Path(__file__).parents[3] / "examples" / "hello-world" / "minicluster.yaml"
WRITTEN = {f"Hello from task {rank} of 4" for rank in range(4)}


@pytest.fixture(scope="module")
def release(
    shipped: list[Archive], nodes: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The chart, installed, with all its pods ready; in the end nothing of it is left but the CRD."""
    found = Release(nodes.api, nodes.kubeconfig, tmp_path_factory.mktemp("helm"))
    service = f"{adapters.SERVICES}/{adapters.NAME}"
    if nodes.api.exists(service):
        nodes.api.delete(service)  # tests before this have it lead to adapters of their own
    try:
        found.install()
        found.wait_ready()
        yield found
        assert "defect" not in logs(nodes)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {logs(nodes)}") from error
    finally:
        found.uninstall()
        nodes.api.delete(f"/api/v1/namespaces/{NAMESPACE}")
        until(lambda: not nodes.api.exists(f"/api/v1/namespaces/{NAMESPACE}"), "the namespace to go", 120)


def logs(nodes: ControlPlane) -> str:
    """Return the states of the release's pods, and what they have written."""
    parts = []
    for pod in nodes.api.items(PODS):
        path = f"{PODS}/{pod['metadata']['name']}/log"
        parts += [f"--- {path}: {pod['status']}", nodes.api.send("GET", path)[1].decode()]
    return "\n".join(parts)


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


def test_one_of_the_operators_leads(release: Release, nodes: ControlPlane) -> None:
    lease = nodes.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}")
    names = [pod["metadata"]["name"] for pod in nodes.api.items(PODS)]
    assert [name for name in names if lease["spec"]["holderIdentity"].startswith(name)]


def test_the_adapter_serves_the_metrics_apis(release: Release, nodes: ControlPlane) -> None:
    for name in adapters.APIS:
        adapters.wait_available(nodes.api, name)


@pytest.mark.parametrize(
    "view", ["", shipped_images.VIEW], ids=["the view of the nodes", "the view built here"]
)
def test_hello_world_succeeds(
    release: Release, nodes: ControlPlane, space: str, tmp_path: Path, view: str
) -> None:
    """The document as it stands, and with the image of Dockerfile.flux-view; no container starts again."""
    document = yaml.safe_load(HELLO.read_text())
    if view:
        document["spec"]["flux"] = {"container": {"image": view}}
    (tmp_path / "hello.yaml").write_text(yaml.safe_dump(document))
    minicluster = CommandLine(nodes.kubeconfig, space)
    done = minicluster("up", tmp_path / "hello.yaml", "--wait")
    assert done.returncode == 0, f"{done.stderr}{logs(nodes)}"
    assert set(minicluster("logs", "hello-world", "--rank", 0).stdout.splitlines()) >= WRITTEN
    assert [state["restartCount"] for _, state in containers(nodes)] == [0, 0, 0]
