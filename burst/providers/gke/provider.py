"""Puts the provider together: node pools of GKE, and pods on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from burst.providers.gke.pools import GkeNodePools
from burst.providers.kubernetes.made_nodes import MadeNodes
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.node_pools.access import CloudAccess
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.node_pools.settings import pod_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.providers.gke.settings import GkeSettings
    from burst.providers.kubernetes.kind import JoinContext


def opened(
    name: str, settings: GkeSettings, context: JoinContext, now: Callable[[], float] = time.time
) -> NodePoolProvider:
    """Return a provider. This makes no call."""
    pools = GkeNodePools(name, settings, now)
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
    pods = KubernetesProvider(name, pod_settings(settings), context.join, now, tunnels=tunnels, made=made)
    return NodePoolProvider(pools, pods)
