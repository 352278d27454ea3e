"""The provider: a cluster for each burst, nodes in it, and pods on them, which go with the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.errors import ProviderError, RetryLater
from burst.lifecycle.records import ResourcePhase, ResourceReport
from burst.providers.kubernetes.made_nodes import NO_TUNNELS_THERE
from burst.providers.node_pools.pods_on_nodes import PodsInClusters, PodsOnNodes, in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceKey
    from burst.planning.records import Offer
    from burst.providers.node_pools.clusters import BurstClusters
    from burst.providers.provider import WantedBurst


class ClusterProvider(PodsOnNodes[PodsInClusters]):
    """Runs each burst in a cluster that is made for it: the cluster costs a fee, its nodes their price.

    Pods are not deleted one by one: their nodes are. So an API server that does not answer keeps nothing, and
    a cluster that is gone has no pods that could be left.
    """

    def __init__(self, clusters: BurstClusters, pods: PodsInClusters) -> None:
        """`pods` runs a burst's brokers in the burst's own cluster."""
        super().__init__(clusters, pods)
        self._clusters = clusters

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings, with the fee of a cluster."""
        return self._clusters.offers()

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the cluster, its nodes, and the pods, which have none of their own."""
        pods = (each._replace(nodes=0) for each in self._pods.resources(wanted))
        return (*self._clusters.resources(wanted), *pods)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make one of these, unless it is there."""
        if self._are_pods(key, wanted):
            self._pods.create(key._replace(nodes=wanted.nodes), token, wanted)
        else:
            self._clusters.create(key, token, wanted)

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of one of these. Pods are absent as soon as their nodes go."""
        if not self._are_pods(key, wanted):
            return self._clusters.get(key, wanted)
        if self._clusters.are_nodes_going(wanted):
            return ResourceReport(key, ResourcePhase.ABSENT, nodes=0)
        owner = (wanted.label, wanted.installation)
        try:
            found = self._pods.get(key._replace(nodes=wanted.nodes), wanted)
        except RetryLater as error:
            return ResourceReport(key, ResourcePhase.COMING, str(error), *owner, nodes=0)
        except ProviderError as error:
            return ResourceReport(key, ResourcePhase.BROKEN, str(error), *owner, nodes=0)
        return found._replace(key=key, nodes=0)

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete the cluster, or its nodes: the pods go with them."""
        nodes = self._clusters.resources(wanted)[-1]
        self._clusters.delete(nodes if self._are_pods(key, wanted) else key, wanted)

    def problems(self) -> Iterable[str]:
        """Return what is wrong with the cloud's side: there is no cluster yet that could be asked."""
        return in_words(self._clusters.problems)

    def tunnel_problems(self) -> Iterable[str]:
        """Return that there are no tunnels."""
        return [NO_TUNNELS_THERE]

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all clusters and nodes of an installation."""
        return self._clusters.owned(installation)

    def _are_pods(self, key: ResourceKey, wanted: WantedBurst) -> bool:
        return key.kind not in {each.kind for each in self._clusters.resources(wanted)}
