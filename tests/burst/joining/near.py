"""A MiniCluster whose bursts are joined, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.joining.records import JoinSettings
from minicluster.document import MiniCluster

if TYPE_CHECKING:
    from burst.providers.provider import WantedBurst

SPEC = {
    "size": 2,
    "maxSize": 4,
    "containers": [{"image": "example.org/app:1", "command": "hostname"}],
    "pod": {"securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True}},
    "flux": {
        "container": {"disable": True},
        "bursting": {"clusters": [{"name": "burst-0", "size": 8}, {"name": "burst-1", "size": 2}]},
    },
}
CERTIFICATE = "of two keys, which are secret"


def near(**spec: Any) -> MiniCluster:
    """Return the document, with other fields of its spec where they are given."""
    metadata = {"name": "near", "namespace": "science", "uid": "5f0e2a8c-1111-2222-3333-444455556666"}
    return MiniCluster.model_validate({"metadata": metadata, "spec": {**SPEC, **spec}})


def join_settings(_wanted: WantedBurst | None = None, cluster: MiniCluster | None = None) -> JoinSettings:
    """Return how brokers of its first slot join it."""
    return JoinSettings(cluster or near(), "burst-0", "192.0.2.7", 30_123, CERTIFICATE)
