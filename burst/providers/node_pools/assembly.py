"""Puts a provider together: a cloud's pools of nodes, or its clusters, and pods on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from burst.providers.kubernetes.made_nodes import MadeNodes
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.node_pools.access import CloudAccess
from burst.providers.node_pools.cluster_pods import ClusterPods
from burst.providers.node_pools.cluster_provider import ClusterProvider
from burst.providers.node_pools.pools import NodePools
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.node_pools.settings import pod_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.node_pools.access import ClusterEndpoint
    from burst.providers.node_pools.clusters import BurstClusters
    from burst.providers.node_pools.settings import NodePoolSettings


class ClusterPools(NodePools, Protocol):
    """Pools whose cloud also says how the API server of their cluster is reached."""

    def endpoint(self) -> ClusterEndpoint:
        """Ask the cloud where it is. Raises ProviderError."""

    def token(self) -> str:
        """Return a token for it, which is secret. Raises ProviderError."""


def on_made_nodes(
    pools: ClusterPools,
    settings: NodePoolSettings,
    context: JoinContext,
    now: Callable[[], float] = time.time,
) -> NodePoolProvider:
    """Return the provider. This makes no call."""
    access = None
    if settings.kubeconfig is None:
        access = CloudAccess(
            endpoint=pools.endpoint,
            token=pools.token,
            folder=context.state / "authorities",
            pods_namespace=settings.namespace,
        )
    tunnels = context.tunnel_pods or context.state / "tunnels"
    made = MadeNodes(pools.location, access)
    pods = KubernetesProvider(
        pools.name, pod_settings(settings), context.join, now, tunnels=tunnels, made=made
    )
    return NodePoolProvider(pools, pods)


def in_own_clusters(
    clusters: BurstClusters,
    settings: NodePoolSettings,
    context: JoinContext,
    now: Callable[[], float] = time.time,
) -> ClusterProvider:
    """Return the provider that makes a cluster for each burst. This makes no call."""
    return ClusterProvider(clusters, ClusterPods(clusters, settings, context, now))
