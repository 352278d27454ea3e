"""Which MiniClusters a command about bursts means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burst.kubernetes import environment

if TYPE_CHECKING:
    from burst.clusters.records import ClusterSource

KUBERNETES = "kubernetes"
SERVICE = "service"


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The MiniClusters of this machine, or those of a Kubernetes cluster; empty: as its context has it.

    `service`: those of a burst service in a cluster, with its ledger; `namespace` is where its pod is.
    """

    on: str = "local"
    namespace: str = ""
    all_namespaces: bool = False
    context: str = ""
    kubeconfig: str = ""

    @property
    def is_far(self) -> bool:
        """Whether a command runs in the pod of a service, as this process has not its ledger."""
        return self.on == SERVICE and not environment.is_of_service()

    def open(self) -> ClusterSource:
        """Return what finds them. Blocks; raises BackendError."""
        if self.on != KUBERNETES:
            from burst.clusters.local_clusters import LocalClusters

            return LocalClusters()
        from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
        from minicluster.kube_client.access import Access

        access = Access(self.kubeconfig, self.context)
        return KubernetesClusters(NamespaceChoice(access, self.namespace, self.all_namespaces))
