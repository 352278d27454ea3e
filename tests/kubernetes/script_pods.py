"""Pods on real nodes: written, started, and waited for."""

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.devcluster import Api, until

SECONDS = 240.0  # a pod runs within 2 s; a machine that does other things as well takes longer


@dataclass(frozen=True, slots=True)
class PodResult:
    """How a pod's only container ended, and what it wrote."""

    code: int
    log: str


def pod(name: str, image: str, script: str, node: str | None = None, **spec: Any) -> dict[str, Any]:
    """Write a pod of one container that runs a shell script, as user 1000."""
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", script],
        **spec.pop("container", {}),
    }
    where = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "labels": {"pod": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsUser": 1000, "runAsGroup": 1000},
            "containers": [container],
            **where,
            **spec,
        },
    }


@contextlib.contextmanager
def space(api: Api) -> Iterator[str]:
    """Have a namespace on a cluster with nodes; at its end its pods go: they would take from the next."""
    name = f"test-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    # After a test that took the API server away, its controllers come back one after the other.
    until(lambda: api.exists(account), f"the service account of {name}", 180.0)
    yield name
    api.delete(f"/api/v1/namespaces/{name}")
    api.call("DELETE", f"/api/v1/namespaces/{name}/pods?gracePeriodSeconds=0")


def path(namespace: str, name: str) -> str:
    """Return a pod's path."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def create(api: Api, namespace: str, *pods: dict[str, Any]) -> None:
    """Create pods."""
    for one in pods:
        api.create(f"/api/v1/namespaces/{namespace}/pods", one)


def wait_running(api: Api, namespace: str, name: str) -> dict[str, Any]:
    """Wait until a pod is ready, and return it."""

    def poll() -> dict[str, Any] | None:
        found = api.get(path(namespace, name))
        conditions = {one["type"]: one["status"] for one in found["status"].get("conditions") or []}
        return found if conditions.get("Ready") == "True" else None

    return until(poll, f"pod {name} to be ready", SECONDS)


def wait_ended(api: Api, namespace: str, name: str) -> PodResult:
    """Wait until a pod has ended."""

    def poll() -> dict[str, Any] | None:
        found = api.get(path(namespace, name))
        return found if found["status"]["phase"] in ("Succeeded", "Failed") else None

    ended = until(poll, f"pod {name} to end", SECONDS)
    states = [one["state"] for one in containers(ended)]
    assert "terminated" in states[-1], states
    code = states[-1]["terminated"]["exitCode"]
    return PodResult(code, api.send("GET", f"{path(namespace, name)}/log")[1].decode())


def containers(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is known of a pod's containers, in the order of their start."""
    return [*found["status"].get("initContainerStatuses", ()), *found["status"].get("containerStatuses", ())]


def run(api: Api, namespace: str, one: dict[str, Any]) -> PodResult:
    """Run a pod to its end."""
    create(api, namespace, one)
    return wait_ended(api, namespace, one["metadata"]["name"])
