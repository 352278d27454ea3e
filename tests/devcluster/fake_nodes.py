"""Nodes that do not exist, and what becomes of the pods on them: kwok with the Stages of stages.yaml."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.devcluster.api import Api
from tests.devcluster.waiting import until

STAGES = Path(__file__).with_name("stages.yaml")
FAKE = "kwok.x-k8s.io/node"  # an annotation: kwok plays these nodes, and leaves real ones alone
EXIT_CODE = "test.minicluster/exit-code"  # annotations of a pod, see stages.yaml
TERMINATION_MESSAGE = "test.minicluster/termination-message"
CAPACITY = {"cpu": "32", "memory": "256Gi", "pods": "110"}
LEASE_SECONDS = 40  # the kubelet's own


def flags(kubeconfig: Path) -> dict[str, str]:
    """Return kwok's flags."""
    return {
        "kubeconfig": str(kubeconfig),
        "config": str(STAGES),
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": f"{FAKE}=fake",
        "node-lease-duration-seconds": str(LEASE_SECONDS),
    }


def node(name: str) -> dict[str, Any]:
    """Write a Node that kwok will play."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {FAKE: "fake"}, "labels": labels},
        "status": {"capacity": CAPACITY, "allocatable": CAPACITY},
    }


def add(api: Api, names: Iterable[str]) -> None:
    """Create nodes and wait until all of them are ready."""
    names = set(names)
    for name in names - node_names(api, ready=False):
        api.create("/api/v1/nodes", node(name))
    until(lambda: names <= node_names(api, ready=True), f"{len(names)} fake nodes to become Ready")


def node_names(api: Api, *, ready: bool) -> set[str]:
    """Name the nodes there are, or those that pods can go to: Ready, and no longer tainted as new."""
    found = api.items("/api/v1/nodes")
    return {one["metadata"]["name"] for one in found if not ready or is_ready(one)}


def is_ready(found: dict[str, Any]) -> bool:
    """Return whether a Node is Ready and has no taints."""
    conditions = {one["type"]: one["status"] for one in found["status"].get("conditions") or []}
    return conditions.get("Ready") == "True" and not found["spec"].get("taints")


def end_pod(api: Api, namespace: str, name: str, code: int, message: str = "") -> None:
    """Have a fake pod's containers end with an exit code, leaving a termination message."""
    annotations = {EXIT_CODE: str(code), TERMINATION_MESSAGE: message}
    api.merge(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"annotations": annotations}})
