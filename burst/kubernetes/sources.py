"""What a service is put together of, and a command in its pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.clusters.burst_keys import BurstKeys
from burst.clusters.served_clusters import ServedClusters
from burst.workplace import BurstObservers, WorkplaceParts

if TYPE_CHECKING:
    from burst.kubernetes.settings import ServedWorkplace

UNOBSERVED = BurstObservers()


def parts(served: ServedWorkplace, observers: BurstObservers = UNOBSERVED) -> WorkplaceParts:
    """Return it, with what finds MiniClusters. Blocks; raises BackendError."""
    keys = BurstKeys(served.access, served.secret)
    pods = served.tunnel_pods
    tunnels = pods.namespace if pods is not None else ""
    source = ServedClusters(served.access, keys, served.namespaces, tunnels=tunnels)
    return WorkplaceParts(source, served.database, served.settings, served.state, observers, pods)
