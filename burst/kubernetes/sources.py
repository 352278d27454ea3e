"""Which MiniClusters the service in a cluster serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.clusters.burst_keys import BurstKeys
from burst.clusters.served_clusters import ServedClusters

if TYPE_CHECKING:
    from burst.clusters.records import ClusterSource
    from burst.kubernetes.settings import BurstServiceSettings


def open_source(settings: BurstServiceSettings) -> ClusterSource:
    """Return what finds them. Blocks; raises BackendError."""
    keys = BurstKeys(settings.access, settings.secret)
    pods = settings.tunnel_pods
    tunnels = pods.namespace if pods is not None else ""
    return ServedClusters(settings.access, keys, settings.namespaces, tunnels=tunnels)
