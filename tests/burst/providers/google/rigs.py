"""Providers of Google's clouds, with the official clients against services that are rehearsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.providers.compute_engine.provider import ComputeEngineProvider
from burst.providers.compute_engine.settings import ComputeEngineSettings
from burst.providers.gke.clusters import GkeClusters
from burst.providers.gke.pools import GkeNodePools
from burst.providers.gke.settings import GkeSettings
from burst.providers.memory import MemoryCloud
from burst.providers.node_pools.cluster_provider import ClusterProvider
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.provider import WantedBurst
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.google_cloud import RehearsedGoogle
from burst.rehearsal.pods import RehearsedPods

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from burst.lifecycle.records import ResourceKey, ResourceReport

MACHINE = "c2-standard-8"
PRICE, SPOT_PRICE = 400_000, 100_000
START = 1_800_000_000.0
LABEL = "62dgmfw4gk"


def burst(
    label: str = LABEL,
    nodes: int = 2,
    *,
    installation: str = "here",
    spot: bool = False,
    seconds: float = 7200.0,
) -> WantedBurst:
    """Return a burst that ends some time after the start of the clock."""
    return WantedBurst(label, installation, nodes, MACHINE, spot, START + seconds, "uid", "burst-0")


class GoogleRig:
    """A cloud of Google's, whose clock is moved by hand."""

    machine = MACHINE

    def __init__(self, folder: Path, **more: Any) -> None:
        self.now = START
        self.cloud = RehearsedCloud(lambda: self.now, {MACHINE: PRICE}, {MACHINE: SPOT_PRICE})
        self.google = RehearsedGoogle(self.cloud, folder, **more).__enter__()

    def close(self) -> None:
        """End the server."""
        self.google.__exit__(None, None, None)

    def wait(self, seconds: float = 120.0) -> None:
        """Move the clock."""
        self.now += seconds

    def others(self) -> int:
        """Return how many instances of somebody else's are there."""
        return sum("minicluster-owner" not in each.labels for each in self.cloud.there())


def priced(**more: Any) -> dict[str, Any]:
    """Return a row of a price table."""
    row = {"machine": MACHINE, "cores": 4, "price": "0.40", "spotPrice": "0.10", "priceDate": "2026-11-01"}
    return {**row, **more}


class ComputeEngineRig(GoogleRig):
    """The provider `compute-engine`, and its cloud."""

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__(folder, **more)
        given = {
            **self.google.settings,
            "region": "us-central1",
            "machines": [priced()],
            "image": "global/images/family/flux",
            **(settings or {}),
        }
        found = ComputeEngineSettings.model_validate(given)
        self.provider = ComputeEngineProvider("ce", found, self.boot, lambda text: text, lambda: self.now)

    def boot(self, wanted: WantedBurst) -> Mapping[str, str]:
        """Return the metadata of instances."""
        return {"startup-script": f"join {wanted.label}"}

    def key(self, wanted: WantedBurst) -> ResourceKey:
        """Return the only resource of a burst."""
        return self.provider.resources(wanted)[0]

    def create(self, wanted: WantedBurst) -> None:
        """Make a burst."""
        self.provider.create(self.key(wanted), "token", wanted)

    def get(self, wanted: WantedBurst) -> ResourceReport:
        """Return its status."""
        return self.provider.get(self.key(wanted), wanted)

    def delete(self, wanted: WantedBurst) -> None:
        """Delete it."""
        self.provider.delete(self.key(wanted), wanted)

    def occupy(self, key: ResourceKey) -> None:
        """Have somebody else make an instance with the first name."""
        self.cloud.make("zones/us-central1-a", "other", MACHINE, 1, {}, names=[f"{key.name}-0"])


class GkeRig(GoogleRig):
    """The provider `gke` with pods in memory, and its cloud."""

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__(folder, **more)
        self.settings = GkeSettings.model_validate(
            {
                **self.google.settings,
                "location": "us-central1-a",
                "cluster": "far",
                "namespace": "bursts",
                "machines": [priced()],
                **(settings or {}),
            }
        )
        self.pools = GkeNodePools("gke", self.settings, lambda: self.now)
        self.pods = MemoryCloud(lambda: self.now)
        self.provider = NodePoolProvider(self.pools, RehearsedPods(self.pods))

    def occupy(self, key: ResourceKey) -> None:
        """Have somebody else make a node pool with this name."""
        self.cloud.make(self.google.gke.path, key.name, MACHINE, 1, {})


LOCATION = "projects/rehearsal/locations/us-central1-a"
FEE = 100_000


class GkeClusterRig(GoogleRig):
    """The provider `gke` that makes a cluster for each burst, with pods in memory, and its cloud."""

    def __init__(self, folder: Path, creation: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__(folder)
        self.cloud.fee = FEE
        given = {"feePerHour": "0.10", "network": "default", "subnetwork": "default", **(creation or {})}
        self.settings = GkeSettings.model_validate(
            {
                **self.google.settings,
                "location": "us-central1-a",
                "cluster": {"create": given},
                "namespace": "default",
                "machines": [priced()],
                **more,
            }
        )
        assert self.settings.cluster.create is not None
        self.clusters = GkeClusters("gke", self.settings, self.settings.cluster.create, lambda: self.now)
        self.pods = MemoryCloud(lambda: self.now)
        self.provider = ClusterProvider(self.clusters, RehearsedPods(self.pods))

    def key(self) -> ResourceKey:
        """Return the cluster of the burst."""
        return self.clusters.resources(burst())[0]

    def create(self) -> None:
        """Make it."""
        self.clusters.create(self.key(), "token", burst())

    def get(self) -> ResourceReport:
        """Return its status."""
        return self.clusters.get(self.key(), burst())

    def delete(self) -> None:
        """Delete it."""
        self.clusters.delete(self.key(), burst())

    def occupy(self, key: ResourceKey) -> None:
        """Have somebody else make a cluster with this name."""
        self.cloud.make_cluster(LOCATION, key.name, {}, {})

    def others(self) -> int:
        """Return how many clusters of somebody else's are there."""
        there = self.cloud.listed_groups(LOCATION)
        return sum("minicluster-owner" not in each.labels for each in there)
