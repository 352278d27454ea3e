"""The provider `eks` for the cases of conformance: AWS's client, a rehearsed account, and pods in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.rehearsal.eks_clusters import CLUSTERS
from tests.burst.providers.eks_world import MACHINE, EksClusterWorld, EksWorld

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey
    from burst.providers.provider import BurstProvider


class EksRig:
    """An account in which others have something as well."""

    machine = MACHINE.machine

    def __init__(self) -> None:
        self.world = EksWorld()
        self.provider: BurstProvider = self.world.provider

    def close(self) -> None:
        """The account is there for all."""

    def wait(self) -> None:
        self.world.pass_by(120.0)

    def occupy(self, key: ResourceKey) -> None:
        size = {"minSize": 1, "maxSize": 1, "desiredSize": 1}
        wanted = {"scalingConfig": size, "tags": {"team": "physics"}}
        self.world.cloud.make(self.world.account.eks.cluster, key.name, self.machine, 1, {}, detail=wanted)

    def others(self) -> int:
        there = self.world.cloud.listed_groups()
        return sum(each.detail.get("tags") == {"team": "physics"} for each in there)


class EksClusterRig(EksRig):
    """The same where each burst has a cluster of its own."""

    def __init__(self) -> None:
        world = EksClusterWorld()
        self.world, self.provider = world, world.clusters

    def occupy(self, key: ResourceKey) -> None:
        self.world.cloud.make_cluster(CLUSTERS, key.name, {}, {"tags": {"team": "physics"}})
