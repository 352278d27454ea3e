"""A provider and the world around it, as the cases need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from burst.joining.workers import LABEL_OWNER
from burst.lifecycle.records import PREFIX, ResourcePhase
from burst.planning.records import NodeShape, Offer
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from burst.providers.memory import MemoryCloud, MemoryProvider
from burst.providers.provider import WantedBurst
from tests.burst.joining.near import join_settings
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey
    from burst.providers.provider import BurstProvider
    from tests.devcluster import Api

OFFER = Offer("memory", "c8", NodeShape(8), price=1_000_000)


class Rig(Protocol):
    """One provider; who writes another one gives this suite a rig for it."""

    provider: BurstProvider
    machine: str
    """One that it offers."""

    def wait(self) -> None:
        """Let so much time pass that what was begun is done."""

    def occupy(self, key: ResourceKey) -> None:
        """Have somebody else make something of this kind and name."""

    def others(self) -> int:
        """Return how many things of somebody else's are there."""

    def close(self) -> None:
        """End what it has begun."""


class MemoryRig:
    """The provider in memory, with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cloud = MemoryCloud(lambda: self.now)
        self.provider = MemoryProvider(self.cloud, [OFFER])
        self.machine = OFFER.machine

    def wait(self) -> None:
        self.now += 60.0

    def occupy(self, key: ResourceKey) -> None:
        wanted = WantedBurst("other", "elsewhere", 1, self.machine, spot=False, until=0.0)
        self.cloud.add(key, wanted, 0)

    def others(self) -> int:
        return sum(each.installation == "elsewhere" for each in self.cloud.there())

    def close(self) -> None:
        """Nothing is begun."""


class KubernetesRig:
    """The provider `kubernetes` in a namespace of a cluster with a job controller and nodes."""

    machine = "c8"

    def __init__(self, api: Api, namespace: str) -> None:
        settings = KubernetesSettings.model_validate(
            {
                "kubeconfig": str(api.access.kubeconfig),
                "context": api.access.context or "",
                "namespace": namespace,
                "offers": [{"machine": self.machine, "cores": 8, "price": "1"}],
            }
        )
        self.api = api
        self.namespace = namespace
        self.provider = KubernetesProvider("kubernetes", settings, join_settings)

    def wait(self) -> None:
        moving = (ResourcePhase.COMING, ResourcePhase.GOING)

        def rests() -> bool:
            found = [each for owner in ("here", "elsewhere") for each in self.provider.owned(owner)]
            return not any(each.phase in moving for each in found)

        until(rests, "all bursts to have come or gone", 60.0)

    def occupy(self, key: ResourceKey) -> None:
        self.api.create(f"/api/v1/namespaces/{self.namespace}/configmaps", {"metadata": {"name": key.name}})

    def others(self) -> int:
        found = self.api.items(f"/api/v1/namespaces/{self.namespace}/configmaps")
        return sum(
            each["metadata"]["name"].startswith(PREFIX)
            and LABEL_OWNER not in each["metadata"].get("labels", {})
            for each in found
        )

    def close(self) -> None:
        """The cluster is a fixture's."""
