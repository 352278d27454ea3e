"""What is wrong with an account before a cluster is made there for a burst: nothing is written.

What the credentials may not read is passed over, but for the listings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid, ProviderError
from burst.providers.eks.clients import refused
from burst.providers.eks.preflight import MIN_FREE_ADDRESSES, listings, role, used_up
from burst.providers.kubernetes.preflight import OLDEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from burst.providers.eks.clients import AwsClients
    from burst.providers.eks.settings import EksClusterCreation, EksSettings

CLUSTERS_QUOTA = "L-1194D53C"
"""The code of how many clusters an account may have in a region."""
MIN_CONTROL_ADDRESSES = 6
"""Free ones that EKS wants in each subnet of a control plane."""
MIN_ZONES = 2
CLUSTER_RIGHTS = (
    "ec2:DescribeInstances",
    "ec2:DescribeSubnets",
    "eks:CreateCluster",
    "eks:CreateNodegroup",
    "eks:DeleteCluster",
    "eks:DeleteNodegroup",
    "eks:DescribeCluster",
    "eks:DescribeClusterVersions",
    "eks:DescribeNodegroup",
    "eks:ListClusters",
    "eks:ListNodegroups",
    "eks:TagResource",
    "iam:CreateServiceLinkedRole",
    "iam:GetRole",
    "iam:ListAttachedRolePolicies",
    "iam:PassRole",
    "servicequotas:GetServiceQuota",
)
"""All that is used of AWS where each burst has a cluster of its own."""


def problems(
    settings: EksSettings, creation: EksClusterCreation, clients: AwsClients, location: str
) -> list[str]:
    """Return every problem in words."""
    asked: dict[str, Callable[[], object]] = {
        "eks:ListClusters": lambda: clients.client("eks").list_clusters(maxResults=1),
        "ec2:DescribeInstances": lambda: clients.client("ec2").describe_instances(MaxResults=5),
    }
    checks: Sequence[Callable[[], Iterator[str]]] = (
        lambda: _version(creation.version, clients),
        lambda: listings(asked),
        lambda: _subnets(settings, creation, clients),
        lambda: role(settings.node_role, "nodeRole", clients),
        lambda: role(creation.cluster_role, "cluster.create.clusterRole", clients),
        lambda: _quota(settings, clients),
    )
    try:
        return [f"{location}: {problem}" for each in checks for problem in each()]
    except ProviderError as error:  # without credentials nobody can be asked anything
        return [str(error)]


def _version(version: str, clients: AwsClients) -> Iterator[str]:
    """Yield that clusters of a version cannot be made, or are not tested."""
    if not version:
        return
    if tuple(map(int, version.split("."))) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield f"Kubernetes {version} (cluster.create.version) is older than {oldest}, the oldest tested"
    try:
        with refused("cluster.create.version"):
            found = clients.client("eks").describe_cluster_versions(clusterVersions=[version])
    except ProviderError:
        return
    known = {each["clusterVersion"]: each.get("versionStatus", "") for each in found["clusterVersions"]}
    if known.get(version, "UNSUPPORTED") == "UNSUPPORTED":
        yield f"EKS makes no clusters of version {version} (cluster.create.version)"
    elif known[version] != "STANDARD_SUPPORT":
        yield (
            f"version {version} (cluster.create.version) is in extended support, in which EKS makes none"
            " without a higher fee: right would be a newer one"
        )


def _subnets(settings: EksSettings, creation: EksClusterCreation, clients: AwsClients) -> Iterator[str]:
    """Yield what is wrong with the subnets of the control plane and of the nodes."""
    nodes, control = settings.subnets, creation.subnets
    try:
        with refused("subnets"):
            wanted = list(dict.fromkeys((*control, *nodes)))
            answer = clients.client("ec2").describe_subnets(SubnetIds=wanted)["Subnets"]
    except CallInvalid as error:
        yield str(error)
        return
    except ProviderError:
        return
    found: dict[str, dict[str, Any]] = {each["SubnetId"]: each for each in answer}
    network = found[control[0]]["VpcId"]
    if others := [name for name, each in found.items() if each["VpcId"] != network]:
        yield f"subnets {', '.join(others)} are not in {network}, the VPC of {control[0]}"
    zones = {found[each]["AvailabilityZone"] for each in control}
    if len(zones) < MIN_ZONES:
        yield (
            f"subnets {', '.join(control)} (cluster.create.subnets) are all in {', '.join(zones)}: right"
            f" would be {MIN_ZONES} zones or more"
        )
    for each in control:
        free = found[each]["AvailableIpAddressCount"]
        if free < MIN_CONTROL_ADDRESSES:
            yield (
                f"subnet {each} (cluster.create.subnets) has {free} free addresses; right would be"
                f" {MIN_CONTROL_ADDRESSES} or more"
            )
    free = sum(found[each]["AvailableIpAddressCount"] for each in nodes)
    if free < MIN_FREE_ADDRESSES:
        names = ", ".join(nodes)
        yield f"subnets {names} have {free} free addresses; right would be {MIN_FREE_ADDRESSES} or more"


def _quota(settings: EksSettings, clients: AwsClients) -> Iterator[str]:
    """Yield that the account may have no more clusters."""

    def clusters() -> Iterator[str]:
        for page in clients.client("eks").get_paginator("list_clusters").paginate():
            yield from page["clusters"]

    owner, what = f"account {settings.account}", f"clusters in {settings.region}"
    yield from used_up(CLUSTERS_QUOTA, owner, what, clusters, clients)
