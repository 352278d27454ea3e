"""Opens the provider: node pools of GKE, in a cluster that is there or that a burst has, and pods on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from burst.providers.gke.clusters import GkeClusters
from burst.providers.gke.pools import GkeNodePools
from burst.providers.node_pools.assembly import in_own_clusters, on_made_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.providers.gke.settings import GkeSettings
    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.node_pools.cluster_provider import ClusterProvider
    from burst.providers.node_pools.provider import NodePoolProvider


def opened(
    name: str, settings: GkeSettings, context: JoinContext, now: Callable[[], float] = time.time
) -> NodePoolProvider | ClusterProvider:
    """Return a provider. This makes no call."""
    if settings.cluster.create is not None:
        return in_own_clusters(
            GkeClusters(name, settings, settings.cluster.create, now), settings, context, now
        )
    return on_made_nodes(GkeNodePools(name, settings, now), settings, context, now)
