"""The provider: a pool of nodes, and the pods on it, which are made after it and deleted before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.providers.node_pools.pods_on_nodes import PodsOnNodes, in_words
from burst.providers.node_pools.pools import pool_key
from burst.providers.provider import BurstProvider

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.planning.records import Offer
    from burst.providers.node_pools.pools import NodePools
    from burst.providers.provider import WantedBurst


class NodePoolProvider(PodsOnNodes[BurstProvider]):
    """Runs bursts on nodes that are made for them: what costs money is the pool, the pods cost nothing."""

    def __init__(self, pools: NodePools, pods: BurstProvider) -> None:
        """`pods` runs a burst's brokers on the nodes that have its label and taint."""
        super().__init__(pools, pods)
        self._pools = pools

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the pools."""
        return self._pools.offers()

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the pool, which has all nodes, and the pods, which have none of their own."""
        pods = [each._replace(nodes=0) for each in self._pods.resources(wanted)]
        return (pool_key(self._pools.kind, wanted.label, wanted.nodes), *pods)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make the pool or the pods, unless they are there."""
        if key.kind == self._pools.kind:
            self._pools.create(wanted, token)
        else:
            self._pods.create(key._replace(nodes=wanted.nodes), token, wanted)

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of the pool or the pods."""
        if key.kind == self._pools.kind:
            return self._pools.get(wanted)
        return _without_nodes(self._pods.get(key._replace(nodes=wanted.nodes), wanted))

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete the pool or the pods."""
        if key.kind == self._pools.kind:
            self._pools.delete(wanted)
        else:
            self._pods.delete(key._replace(nodes=wanted.nodes), wanted)

    def problems(self) -> Iterable[str]:
        """Return what is wrong with the cloud's side and with Kubernetes' side."""
        return [*in_words(self._pools.problems), *in_words(self._pods.problems)]

    def tunnel_problems(self) -> Iterable[str]:
        """Return what is wrong besides where brokers reach their lead by a tunnel."""
        return in_words(self._pods.tunnel_problems)

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all pools and all pods of an installation."""
        pods = [_without_nodes(each) for each in self._pods.owned(installation)]
        return [*pods, *self._pools.owned(installation)]


def _without_nodes(status: ResourceReport) -> ResourceReport:
    return status._replace(key=status.key._replace(nodes=0), nodes=0)
