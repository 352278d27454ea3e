"""Builders of objects as the API server returns them."""

from typing import Any

from minicluster.plan.constants import (
    API_VERSION,
    KIND,
    LABEL_COMPONENT,
    LABEL_INSTANCE,
    LABEL_MANAGED_BY,
    LABEL_POD_INDEX,
    MANAGER,
    Component,
)

Object = dict[str, Any]
NAMESPACE = "science"


def minicluster(name: str = "mc", *, version: int = 1, uid: str = "uid-mc", **spec: Any) -> Object:
    """Return a MiniCluster."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid,
            "generation": 1,
            "resourceVersion": str(version),
        },
        "spec": {"size": 2, "containers": [{"image": "app", "command": "hostname"}], **spec},
    }


def owned(
    kind: str,
    name: str = "mc",
    *,
    version: int = 1,
    instance: str = "mc",
    uid: str = "",
    owner: str = "uid-mc",
    **more: Any,
) -> Object:
    """Return an object of a MiniCluster."""
    reference = {"kind": KIND, "name": instance, "uid": owner, "controller": True}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "v1",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": uid or f"uid-{kind}-{name}",
            "resourceVersion": str(version),
            "labels": {LABEL_INSTANCE: instance, LABEL_MANAGED_BY: MANAGER},
            "ownerReferences": [reference],
        },
        **more,
    }


def job(*, version: int = 1, parallelism: int = 2, status: Object | None = None, **more: Any) -> Object:
    """Return a MiniCluster's Job."""
    return owned("Job", version=version, spec={"parallelism": parallelism}, status=status or {}, **more)


def broker(
    index: int = 0,
    *,
    version: int = 1,
    name: str = "",
    phase: str = "Pending",
    address: str = "",
    **more: Any,
) -> Object:
    """Return a broker pod of the Job with the uid `uid-Job-mc`."""
    pod = owned("Pod", name or f"mc-{index}-x", version=version, **more)
    pod["metadata"]["labels"] |= {LABEL_COMPONENT: Component.BROKER.value, LABEL_POD_INDEX: str(index)}
    pod["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": "mc", "uid": "uid-Job-mc", "controller": True}
    ]
    status = {"phase": phase, **({"podIP": address} if address else {})}
    return {**pod, "spec": {"containers": [{"name": "mc"}]}, "status": status}
