"""Opens the provider: node groups of EKS, in a cluster that is there or made for a burst, and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.eks.clients import AwsClients
from burst.providers.eks.clusters import EksClusters
from burst.providers.eks.groups import EksGroups
from burst.providers.node_pools.assembly import in_own_clusters, on_made_nodes

if TYPE_CHECKING:
    from burst.providers.eks.settings import EksSettings
    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.node_pools.cluster_provider import ClusterProvider
    from burst.providers.node_pools.provider import NodePoolProvider


def opened(
    name: str, settings: EksSettings, context: JoinContext, endpoint: str = ""
) -> NodePoolProvider | ClusterProvider:
    """Return a provider. `endpoint` is the URL of who answers in place of AWS, for rehearsals."""
    clients = AwsClients(settings.region, settings.credentials_file, settings.profile, endpoint)
    if settings.cluster.create is not None:
        clusters = EksClusters(name, settings, settings.cluster.create, clients)
        return in_own_clusters(clusters, settings, context)
    return on_made_nodes(EksGroups(name, settings, clients), settings, context)
