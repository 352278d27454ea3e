"""Clouds for proofs: providers by their official clients over fakes, made once and used for many lives."""

from __future__ import annotations

import contextlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.errors import LeadAway
from burst.providers.plugins import ProviderContext
from burst.rehearsal import clouds
from burst.rehearsal.eks_clusters import CLUSTERS
from burst.rehearsal.rehearsal import VirtualClock
from burst.settings import file as settings_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from burst.joining.records import JoinSettings
    from burst.planning.records import Offer
    from burst.providers.provider import WantedBurst
    from burst.rehearsal.clouds import RehearsedProvider

START = 1_800_000_000.0
CORES = 4
ROW = {"machine": "m4", "cores": CORES, "price": "3.60", "spotPrice": "1.80", "priceDate": "2026-11-01"}
"""A node costs one unit of money in 1,000 seconds, and half of that as a spot machine."""
GOOGLE = {"project": "lab-1234", "machines": [ROW]}
EKS = {
    "region": "eu-west-1",
    "nodeRole": "arn:aws:iam::123456789012:role/nodes",
    "subnets": ["subnet-1"],
    "machines": [ROW],
}
OWN = {"feePerHour": "7.20", "readySeconds": 30}
"""A cluster costs as much as two nodes, and there is time for it."""
EKS_CLUSTER = {
    **EKS,
    "cluster": {
        "create": {
            **OWN,
            "clusterRole": "arn:aws:iam::123456789012:role/clusters",
            "subnets": ["subnet-1", "subnet-2"],
        }
    },
    "namespace": "default",
    "machines": [{**ROW, "readySeconds": 30}],
}
EKS_READS = (
    "eks.DescribeCluster",
    "eks.ListClusters",
    "eks.DescribeNodegroup",
    "eks.ListNodegroups",
    "ec2.DescribeInstances",
)
GKE_CLUSTER = {
    **GOOGLE,
    "location": "europe-west4-a",
    "cluster": {"create": {**OWN, "network": "default", "subnetwork": "default"}},
    "namespace": "default",
    "machines": [{**ROW, "readySeconds": 30}],
}


@dataclass(frozen=True, slots=True)
class CloudCalls:
    """The names of a cloud's calls, as faults have them."""

    create: str
    delete: str
    reads: tuple[str, ...]
    """What tells how it is with one burst, and what lists all."""


SETTINGS: Mapping[str, tuple[str, dict[str, Any], CloudCalls]] = {
    "memory": (
        "memory",
        {"offers": [{"machine": "m4", "cores": CORES, "pricePerHour": "3.60"}]},
        CloudCalls("nodes.create", "nodes.delete", ("nodes.get", "nodes.list")),
    ),
    "eks": (
        "eks",
        {**EKS, "cluster": "research", "namespace": "bursts"},
        CloudCalls(
            "eks.CreateNodegroup",
            "eks.DeleteNodegroup",
            ("eks.DescribeNodegroup", "eks.ListNodegroups", "ec2.DescribeInstances"),
        ),
    ),
    "gke": (
        "gke",
        {**GOOGLE, "location": "europe-west4-a", "cluster": "research", "namespace": "bursts"},
        CloudCalls(
            "container.nodePools.create",
            "container.nodePools.delete",
            ("container.nodePools.get", "container.nodePools.list", "compute.instances.aggregatedList"),
        ),
    ),
    "eks-cluster": (
        "eks",
        EKS_CLUSTER,
        CloudCalls("eks.CreateCluster", "eks.DeleteCluster", EKS_READS),
    ),
    "eks-cluster-nodes": (
        "eks",
        EKS_CLUSTER,
        CloudCalls("eks.CreateNodegroup", "eks.DeleteNodegroup", EKS_READS),
    ),
    "gke-cluster": (
        "gke",
        GKE_CLUSTER,
        CloudCalls(
            "container.clusters.create",
            "container.clusters.delete",
            ("container.clusters.get", "container.clusters.list", "compute.instances.aggregatedList"),
        ),
    ),
    "compute-engine": (
        "compute-engine",
        {**GOOGLE, "region": "europe-west4", "image": "global/images/flux"},
        CloudCalls(
            "compute.regionInstances.bulkInsert",
            "compute.instances.delete",
            ("compute.instances.aggregatedList", "compute.regionOperations.list"),
        ),
    ),
}
"""By name of the cloud: the kind of its provider, settings, and its calls."""


@dataclass(frozen=True, slots=True)
class CloudRig:
    """A provider over its cloud, whose clock only goes on."""

    name: str
    clock: VirtualClock
    found: RehearsedProvider
    calls: CloudCalls

    @property
    def offers(self) -> list[Offer]:
        """What it sells."""
        return list(self.found.provider.offers())

    def occupy(self, name: str) -> None:
        """Have somebody else make something with a name."""
        location = "projects/rehearsal/locations/us-central1-a"
        parents = {"eks": "far", "gke": f"{location}/clusters/far"}
        clusters = {"eks-cluster": CLUSTERS, "eks-cluster-nodes": CLUSTERS, "gke-cluster": location}
        cloud, detail = self.found.cloud, {"tags": {"team": "physics"}, "scalingConfig": {"desiredSize": 1}}
        if self.name in clusters:
            cloud.make_cluster(clusters[self.name], name, {}, detail)
        elif self.name == "compute-engine":
            cloud.make("zones/us-central1-a", "other", "m4", 1, {}, names=[f"{name}-0"])
        else:
            cloud.make(parents.get(self.name, ""), name, "m4", 1, {}, detail=detail)

    def clear(self, *, coming: float = 5.0, going: float = 5.0, lag: float = 0.0) -> None:
        """Have an empty cloud that takes so many seconds, and no faults."""
        cloud, pods = self.found.cloud, self.found.pods
        for each in (cloud.groups, cloud.machines, cloud.calls, cloud.faults, cloud.numbered, cloud.capacity):
            each.clear()
        cloud.quota, cloud.coming, cloud.going, cloud.lag = None, coming, going, lag
        if pods is not None:
            pods._made.clear()
            pods.faults.clear()
        self.clock.now += 7200.0


@contextlib.contextmanager
def opened(name: str) -> Iterator[CloudRig]:
    """Give the cloud of a name."""
    kind, settings, calls = SETTINGS[name]
    text = {"providers": [{"name": name, "kind": kind, "settings": settings}]}
    clock = VirtualClock(START)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        file = settings_file.checked(settings_file.located(json.dumps(text)))
        context = ProviderContext(_no_join, Path(folder))
        found = clouds.opened(file, context, clock, {}, stack)[name]
        yield CloudRig(name, clock, found, calls)


def _no_join(_wanted: WantedBurst) -> JoinSettings:
    raise LeadAway("there are no brokers")
