"""Which nodes a broker pod may run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import LABEL_ARCHITECTURE, TOPOLOGY_HOST, Component
from minicluster.plan.objects.fields import passed, present
from minicluster.plan.objects.labels import component_pods

if TYPE_CHECKING:
    from minicluster.document import MiniCluster, TopologySpreadConstraint
    from minicluster.plan.objects.fields import Object

# uname's words for what Kubernetes calls amd64 and arm64.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm": "arm64"}


def affinity(cluster: MiniCluster) -> Object:
    """Return the affinity: one broker a node unless disabled, and the node affinity of the document."""
    return present(nodeAffinity=_node_affinity(cluster), podAntiAffinity=_one_per_node(cluster))


def node_selector(cluster: MiniCluster) -> Object:
    """Return the labels that a node must have: the document's, and the architecture of its Flux."""
    arch = cluster.spec.flux.arch
    chosen = {LABEL_ARCHITECTURE: _ARCHITECTURES.get(arch, arch)} if arch else {}
    return {**chosen, **cluster.spec.pod.node_selector}


def topology_spread(cluster: MiniCluster) -> list[Object]:
    """Return the spread constraints; those without a selector count this MiniCluster's broker pods."""
    return [_constraint(cluster, each) for each in cluster.spec.pod.topology_spread_constraints]


def _constraint(cluster: MiniCluster, constraint: TopologySpreadConstraint) -> Object:
    return {
        "labelSelector": {"matchLabels": component_pods(cluster, Component.BROKER)},
        **passed(constraint),
    }


def _node_affinity(cluster: MiniCluster) -> Object:
    wanted = [
        {"key": label, "operator": "In", "values": list(values)}
        for label, values in sorted(cluster.spec.pod.node_affinity.items())
    ]
    if not wanted:
        return {}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": wanted}]
        }
    }


def _one_per_node(cluster: MiniCluster) -> Object:
    network = cluster.spec.network
    if network.disable_affinity:
        return {}
    term = {
        "labelSelector": {"matchLabels": component_pods(cluster, Component.BROKER)},
        "topologyKey": TOPOLOGY_HOST,
    }
    if network.one_per_node == "Required":
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
