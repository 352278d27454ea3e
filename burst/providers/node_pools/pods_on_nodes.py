"""What the pods of a burst are asked, whichever way the nodes below them were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from burst.errors import ProviderError, RetryLater
from burst.providers.provider import IsolatingProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.providers.node_pools.clusters import BurstClusters
    from burst.providers.node_pools.pools import NodePools
    from burst.providers.provider import WantedBurst
    from minicluster.instance.port import Instance


class PodsInClusters(Protocol):
    """Runs brokers in the clusters of bursts. Each call raises ProviderError."""

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return what its pods are. This makes no call."""

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make them, unless they are there."""

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return their status."""

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what one has written about why its broker has not joined."""


Pods = TypeVar("Pods", bound=PodsInClusters)


class PodsOnNodes(Generic[Pods]):
    """The part of a provider that its pods answer alone."""

    def __init__(self, nodes: NodePools | BurstClusters, pods: Pods) -> None:
        self.name = nodes.name
        self.location = nodes.location
        self._pods = pods

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what a pod's log has about why its broker has not joined."""
        return self._pods.broker_problem(wanted)

    def instance(self, wanted: WantedBurst) -> Instance:
        """Connect to the instance of an isolated burst. Raises RetryLater while none answers."""
        if isinstance(self._pods, IsolatingProvider):
            return self._pods.instance(wanted)
        raise RetryLater(self._without_instances)

    def isolation_problems(self) -> Iterable[str]:
        """Return what is wrong besides where bursts are isolated."""
        if isinstance(self._pods, IsolatingProvider):
            return in_words(self._pods.isolation_problems)
        return [self._without_instances]

    @property
    def _without_instances(self) -> str:
        return f"pods of {self.name} are no instances for single jobs"


def in_words(ask: Callable[[], Iterable[str]]) -> list[str]:
    """Return the problems that are found; that nobody can be asked is one."""
    try:
        return list(ask())
    except ProviderError as error:
        return [str(error)]
