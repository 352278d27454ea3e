"""The chart, installed on a cluster with nodes for as long as a block takes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.devcluster import Api, ControlPlane, until
from tests.devcluster.release import CHART, NAMESPACE, PODS, Release
from tests.kubernetes import adapters, operators


@contextlib.contextmanager
def installed(nodes: ControlPlane, folder: Path, *options: str, chart: Path = CHART) -> Iterator[Release]:
    """Have the chart, with all its pods ready; in the end nothing of it is left but the CRD."""
    found = Release(nodes.api, nodes.kubeconfig, folder, chart)
    make_room(nodes.api)
    try:
        found.install(*options)
        found.wait_ready()
        yield found
        assert "defect" not in logs(nodes)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {logs(nodes)}") from error
    finally:
        found.uninstall()
        nodes.api.delete(f"/api/v1/namespaces/{NAMESPACE}")
        until(lambda: not nodes.api.exists(f"/api/v1/namespaces/{NAMESPACE}"), "the namespace to go", 120)


def make_room(api: Api) -> None:
    """Delete what tests with operators and adapters of their own have applied: helm would be refused."""
    service = f"{adapters.SERVICES}/{adapters.NAME}"
    if api.exists(service):
        api.delete(service)
    operators.revoke(api)


def logs(nodes: ControlPlane) -> str:
    """Return the states of the release's pods, and what they have written."""
    parts = []
    for pod in nodes.api.items(PODS):
        path = f"{PODS}/{pod['metadata']['name']}/log"
        parts += [f"--- {path}: {pod['status']}", nodes.api.send("GET", path)[1].decode()]
    return "\n".join(parts)
