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
MIN_APART = 2
"""Groups of brokers from which on they are spread."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm": "arm64"}


def affinity(cluster: MiniCluster) -> Object:
    """Return the affinity: one broker a node unless disabled, and the node affinity of the document.

    Brokers that were cut for one node are best together.
    """
    return present(
        nodeAffinity=_node_affinity(cluster),
        podAffinity=_together(cluster),
        podAntiAffinity=_one_per_node(cluster),
    )


def node_selector(cluster: MiniCluster) -> Object:
    """Return the labels that a node must have: the document's, and the architecture of its Flux."""
    arch = cluster.spec.flux.arch
    chosen = {LABEL_ARCHITECTURE: _ARCHITECTURES.get(arch, arch)} if arch else {}
    return {**chosen, **cluster.spec.pod.node_selector}


def topology_spread(cluster: MiniCluster) -> list[Object]:
    """Return the spread constraints; those without a selector count this MiniCluster's broker pods.

    The groups of brokers that were cut are spread over nodes, where the document does not spread them itself.
    """
    found = [_constraint(cluster, each) for each in cluster.spec.pod.topology_spread_constraints]
    is_theirs = any(each["topologyKey"] == TOPOLOGY_HOST for each in found)
    return found if is_theirs else [*found, *_groups_apart(cluster)]


def _groups_apart(cluster: MiniCluster) -> list[Object]:
    """Return the constraint that gives each group of brokers a node: soft, as a node may have no room."""
    found = cluster.status.granularity
    if found is None or found.groups < MIN_APART:
        return []
    return [
        {
            "labelSelector": {"matchLabels": component_pods(cluster, Component.BROKER)},
            "maxSkew": 1,
            "topologyKey": TOPOLOGY_HOST,
            "whenUnsatisfiable": "ScheduleAnyway",
            "nodeTaintsPolicy": "Honor",
        }
    ]


def _together(cluster: MiniCluster) -> Object:
    found = cluster.status.granularity
    if found is None or found.groups >= MIN_APART or cluster.spec.network.one_per_node == "Required":
        return {}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [_weighted(_beside_brokers(cluster))]}


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
    term = _beside_brokers(cluster)
    if network.one_per_node == "Required":
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [_weighted(term)]}


def _beside_brokers(cluster: MiniCluster) -> Object:
    """Return the term that means nodes with a broker of this MiniCluster."""
    return {
        "labelSelector": {"matchLabels": component_pods(cluster, Component.BROKER)},
        "topologyKey": TOPOLOGY_HOST,
    }


def _weighted(term: Object) -> Object:
    return {"weight": 100, "podAffinityTerm": term}
