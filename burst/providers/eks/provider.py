"""Puts the provider together: node groups of EKS, and pods on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.eks.clients import AwsClients
from burst.providers.eks.groups import EksGroups
from burst.providers.kubernetes.made_nodes import MadeNodes
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.node_pools.access import CloudAccess
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.node_pools.settings import pod_settings

if TYPE_CHECKING:
    from burst.providers.eks.settings import EksSettings
    from burst.providers.kubernetes.kind import JoinContext


def opened(name: str, settings: EksSettings, context: JoinContext, endpoint: str = "") -> NodePoolProvider:
    """Return a provider. `endpoint` is the URL of who answers in place of AWS, for rehearsals."""
    clients = AwsClients(settings.region, settings.credentials_file, settings.profile, endpoint)
    groups = EksGroups(name, settings, clients)
    access = None
    if settings.kubeconfig is None:
        access = CloudAccess(
            endpoint=groups.endpoint,
            token=groups.token,
            folder=context.state / "authorities",
            pods_namespace=settings.namespace,
        )
    tunnels = context.tunnel_pods or context.state / "tunnels"
    made = MadeNodes(groups.location, access)
    pods = KubernetesProvider(name, pod_settings(settings), context.join, tunnels=tunnels, made=made)
    return NodePoolProvider(groups, pods)
