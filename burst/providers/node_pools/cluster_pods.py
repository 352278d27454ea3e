"""The pods of bursts that have clusters of their own: each is reached by the cloud's credentials."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

from burst.providers.kubernetes.made_nodes import NO_TUNNELS_THERE, MadeNodes
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.node_pools.access import CloudAccess
from burst.providers.node_pools.settings import pod_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.node_pools.clusters import BurstClusters
    from burst.providers.node_pools.settings import NodePoolSettings
    from burst.providers.provider import WantedBurst
    from minicluster.instance.port import Instance

MAX_KEPT = 256
"""Of how many bursts it is kept how their clusters are reached: that is a question less for each call."""


class ClusterPods:
    """Runs the brokers of each burst in the cluster of that burst."""

    def __init__(
        self,
        clusters: BurstClusters,
        settings: NodePoolSettings,
        context: JoinContext,
        now: Callable[[], float],
    ) -> None:
        self._clusters = clusters
        self._settings = settings
        self._context = context
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], KubernetesProvider] = {}

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return what its pods are. This makes no call."""
        return self._pods(wanted).resources(wanted)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make a burst's objects, unless they are there."""
        self._pods(wanted).create(key, token, wanted)

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return their status."""
        return self._pods(wanted).get(key, wanted)

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what a pod's log has about why its broker has not joined."""
        return self._pods(wanted).broker_problem(wanted)

    def instance(self, wanted: WantedBurst) -> Instance:
        """Connect to the instance of an isolated burst. Raises RetryLater while none answers."""
        return self._pods(wanted).instance(wanted)

    def isolation_problems(self) -> Sequence[str]:
        """Return nothing: who makes a cluster may do in it what there is to do."""
        return ()

    def _pods(self, wanted: WantedBurst) -> KubernetesProvider:
        key = (wanted.installation, wanted.label)
        with self._lock:
            found = self._kept.pop(key, None) or self._made(wanted)
            self._kept[key] = found  # the one that was asked for last is forgotten last
            if len(self._kept) > MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            return found

    def _made(self, wanted: WantedBurst) -> KubernetesProvider:
        access = CloudAccess(
            endpoint=functools.partial(self._clusters.endpoint, wanted),
            token=functools.partial(self._clusters.token, wanted),
            folder=self._context.state / "authorities",
            pods_namespace=self._settings.namespace,
        )
        made = MadeNodes(self._clusters.location, access, NO_TUNNELS_THERE)
        settings = pod_settings(self._settings)
        return KubernetesProvider(self._clusters.name, settings, self._context.join, self._now, made=made)
