"""Which nodes the broker pods of a MiniCluster may run on: by selector, affinity, taints, and readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.objects import pod_affinity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import MiniCluster, Toleration
    from minicluster.plan.records import NodeReport, NodeTaint


def offered(cluster: MiniCluster, nodes: Iterable[NodeReport]) -> tuple[NodeReport, ...]:
    """Return the nodes that are ready and that the pods' selector, affinity and tolerations admit."""
    selector = pod_affinity.node_selector(cluster)
    return tuple(each for each in nodes if each.ready and _admits(cluster, selector, each))


def _admits(cluster: MiniCluster, selector: dict[str, str], node: NodeReport) -> bool:
    pod, labels = cluster.spec.pod, dict(node.labels)
    if any(labels.get(label) != value for label, value in selector.items()):
        return False
    if any(labels.get(label) not in values for label, values in pod.node_affinity.items()):
        return False
    return all(any(_tolerates(each, taint) for each in pod.tolerations) for taint in node.taints)


def _tolerates(toleration: Toleration, taint: NodeTaint) -> bool:
    """Return whether a toleration matches a taint; one without a key matches every taint."""
    if toleration.effect not in {"", taint.effect}:
        return False
    if toleration.key not in {"", taint.key}:
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value
