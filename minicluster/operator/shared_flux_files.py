"""How the operator names the Flux files that the MiniClusters of a namespace share. No I/O."""

from __future__ import annotations

from minicluster.kube_client.objects import Name, ObjectReference
from minicluster.kube_client.resources import CONFIG_MAPS
from minicluster.plan.objects.names import FLUX_FILES


def reference(namespace: str) -> ObjectReference:
    """Return which ConfigMap of a namespace has them."""
    return ObjectReference(CONFIG_MAPS.kind, namespace, FLUX_FILES)


def subject(namespace: str) -> Name:
    """Return the name under which the queue has them: that of no MiniCluster."""
    return Name(namespace, "")


def is_subject(name: Name) -> bool:
    """Whether a name of the queue stands for a namespace's Flux files."""
    return not name.name
