"""What a service may do in a cloud, by the policies in deploy/clouds, beside what was called there.

Both have to be the same: a call that the policy forbids fails in a real account, as no fake refuses it, and a
right that no call needs is one too many.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from burst.providers.eks.preflight import OF_CREATION
from burst.providers.gke.cluster_preflight import IN_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from burst.providers.provider import BurstProvider
    from tests.burst.proofs.cloud_rigs import CloudRig

FOLDER = Path(__file__).parents[3] / "deploy" / "clouds"
POLICIES = {
    "eks": "eks-policy.json",
    "eks-cluster": "eks-clusters-policy.json",
    "gke": "gke-role.yaml",
    "gke-cluster": "gke-clusters-role.yaml",
    "compute-engine": "compute-engine-role.yaml",
}
"""By the name of a cloud of `cloud_rigs`."""
PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    "compute.instances.aggregatedList": ("compute.instances.list",),
    "compute.regionInstances.bulkInsert": (
        "compute.disks.create",
        "compute.images.useReadOnly",
        "compute.instances.create",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setTags",
        "compute.subnetworks.use",
    ),
    "container.locations.getServerConfig": ("container.clusters.list",),
    "container.nodePools.create": ("container.clusters.update",),
    "container.nodePools.delete": ("container.clusters.update",),
    "container.nodePools.get": ("container.clusters.get",),
    "container.nodePools.list": ("container.clusters.get",),
}
"""What Google asks for a call, by the pages about each method; for all others: a permission of its name."""
_LEFT = {"compute.instances.delete", "compute.instances.get"}
_OF_MACHINES = {"compute.images.get", "compute.images.getFromFamily", "compute.subnetworks.get"}
OTHERWISE = {
    "eks-cluster": {"eks:DescribeClusterVersions"},
    "gke": _LEFT,
    "gke-cluster": _LEFT,
    "compute-engine": {*_OF_MACHINES, "compute.instances.get", "compute.instances.getSerialPortOutput"},
}
"""What other bursts need, and other settings, each of which has a test beside its provider.

A version of clusters; machines that have outlived their pool, or that no listing has yet; an image by its
name or its family, and a subnetwork; the console of a machine whose broker did not come.
"""


def allowed(name: str) -> set[str]:
    """Return what the policy for a cloud allows."""
    text = (FOLDER / POLICIES[name]).read_text()
    if POLICIES[name].endswith(".yaml"):
        return set(yaml.safe_load(text)["includedPermissions"])
    return {action for each in json.loads(text)["Statement"] for action in each["Action"]}


def needed(name: str, calls: Iterable[str]) -> set[str]:
    """Return the rights that calls need, and those that are needed with them."""
    if name.startswith("eks"):
        return {call.replace(".", ":") for call in calls} | {*OF_CREATION, *OTHERWISE.get(name, ())}
    found = {right for call in calls for right in PERMISSIONS.get(call, (call,))}
    pods = set(IN_CLUSTER) if name == "gke-cluster" else set()  # nobody can give them a Role there
    return found | pods | OTHERWISE.get(name, set())


def wrong(name: str, calls: Iterable[str]) -> Iterator[str]:
    """Yield in words what the policy for a cloud lacks, or has for nothing."""
    may, must = allowed(name), needed(name, calls)
    for each in sorted(must - may):
        yield f"{POLICIES[name]} does not allow {each}, which is needed"
    for each in sorted(may - must):
        yield f"{POLICIES[name]} allows {each}, which nothing calls"


def preflight(rig: CloudRig) -> set[str]:
    """Return the calls by which a provider is asked what is wrong with it, and for all that is there."""
    provider: BurstProvider = rig.found.provider
    rig.found.cloud.calls.clear()
    list(provider.problems())
    list(provider.owned("here"))
    return set(rig.found.cloud.calls)
