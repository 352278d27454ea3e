"""Opens the provider: node groups of EKS, and pods on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.eks.clients import AwsClients
from burst.providers.eks.groups import EksGroups
from burst.providers.node_pools.assembly import on_made_nodes

if TYPE_CHECKING:
    from burst.providers.eks.settings import EksSettings
    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.node_pools.provider import NodePoolProvider


def opened(name: str, settings: EksSettings, context: JoinContext, endpoint: str = "") -> NodePoolProvider:
    """Return a provider. `endpoint` is the URL of who answers in place of AWS, for rehearsals."""
    clients = AwsClients(settings.region, settings.credentials_file, settings.profile, endpoint)
    return on_made_nodes(EksGroups(name, settings, clients), settings, context)
