"""What is wrong with an account and a cluster before a burst is made there: nothing is written.

What the credentials may not read is passed over, but for the cluster itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.errors import AccessDenied, CallInvalid, ProviderError
from burst.providers.eks.clients import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from burst.providers.eks.clients import AwsClients
    from burst.providers.eks.settings import EksSettings

MIN_FREE_ADDRESSES = 16
"""Of all subnets together: a node takes one, and some for its pods."""
GROUPS_QUOTA = "L-6D54EA21"
"""The code of how many managed node groups a cluster may have."""
RIGHTS = (
    "ec2:DescribeInstances",
    "ec2:DescribeSubnets",
    "eks:CreateNodegroup",
    "eks:DeleteNodegroup",
    "eks:DescribeCluster",
    "eks:DescribeNodegroup",
    "eks:ListNodegroups",
    "eks:TagResource",
    "iam:CreateServiceLinkedRole",
    "iam:GetRole",
    "iam:ListAttachedRolePolicies",
    "iam:PassRole",
    "servicequotas:GetServiceQuota",
)
"""All that is used of AWS."""
OF_CREATION = (
    "eks:TagResource",
    "iam:CreateServiceLinkedRole",
    "iam:ListAttachedRolePolicies",
    "iam:PassRole",
)
"""Those of them that EKS asks for itself, of who makes something.

For tags, for its own role in an account that has none, and for the nodes' role: whether it has the policies
of a node, and may be given.
"""


def problems(settings: EksSettings, clients: AwsClients, location: str) -> list[str]:
    """Return every problem in words."""
    try:
        with refused(location):
            cluster = clients.client("eks").describe_cluster(name=settings.cluster.name)["cluster"]
    except CallInvalid:
        return [f"{location}: there is no cluster {settings.cluster.name} in {settings.region}"]
    except ProviderError as error:
        return [str(error)]
    checks: Sequence[Callable[[], Iterator[str]]] = (
        lambda: _status(cluster),
        lambda: listings(_listed(settings, clients)),
        lambda: _subnets(settings, clients, cluster),
        lambda: role(settings.node_role, "nodeRole", clients),
        lambda: _quota(settings, clients),
    )
    return [f"{location}: {problem}" for each in checks for problem in each()]


def _status(cluster: dict[str, Any]) -> Iterator[str]:
    if cluster["status"] not in ("ACTIVE", "UPDATING"):
        yield f"cluster {cluster['name']} is {cluster['status']}; right would be ACTIVE"
    for each in (cluster.get("health") or {}).get("issues") or ():
        yield f"cluster {cluster['name']} is not well: {each.get('message', '')} ({each.get('code', '')})"


def _listed(settings: EksSettings, clients: AwsClients) -> dict[str, Callable[[], object]]:
    return {
        "eks:ListNodegroups": lambda: clients.client("eks").list_nodegroups(
            clusterName=settings.cluster.name, maxResults=1
        ),
        "ec2:DescribeInstances": lambda: clients.client("ec2").describe_instances(MaxResults=5),
    }


def listings(asked: Mapping[str, Callable[[], object]]) -> Iterator[str]:
    """Yield why what is there could not be listed: without that nothing is ever certain to be gone.

    `asked` has what asks for a listing, by the right that it needs.
    """
    for right, ask in asked.items():
        try:
            with refused(right):
                ask()
        except AccessDenied as error:
            yield f"what is there cannot be listed: {error}"
        except ProviderError as error:
            yield str(error)


def _subnets(settings: EksSettings, clients: AwsClients, cluster: dict[str, Any]) -> Iterator[str]:
    try:
        with refused("subnets"):
            found = clients.client("ec2").describe_subnets(SubnetIds=list(settings.subnets))["Subnets"]
    except CallInvalid as error:
        yield str(error)
        return
    except ProviderError:
        return
    network = (cluster.get("resourcesVpcConfig") or {}).get("vpcId", "")
    if others := [each["SubnetId"] for each in found if network and each["VpcId"] != network]:
        yield f"subnets {', '.join(others)} are not in {network}, the VPC of cluster {settings.cluster.name}"
    free = sum(each["AvailableIpAddressCount"] for each in found)
    if free < MIN_FREE_ADDRESSES:
        names = ", ".join(settings.subnets)
        yield f"subnets {names} have {free} free addresses; right would be {MIN_FREE_ADDRESSES} or more"


def role(arn: str, setting: str, clients: AwsClients) -> Iterator[str]:
    """Yield that the role of a setting is not there; not everybody may read roles."""
    name = arn.rpartition("/")[2]
    try:
        with refused(setting):
            clients.client("iam").get_role(RoleName=name)
    except CallInvalid:
        yield f"there is no role {name} ({setting}) in account {arn.split(':')[4]}"
    except ProviderError:
        return


def _quota(settings: EksSettings, clients: AwsClients) -> Iterator[str]:
    """Yield that a cluster may have no more node groups."""

    def groups() -> Iterator[str]:
        listing = clients.client("eks").get_paginator("list_nodegroups")
        for page in listing.paginate(clusterName=settings.cluster.name):
            yield from page["nodegroups"]

    yield from used_up(GROUPS_QUOTA, f"cluster {settings.cluster.name}", "node groups", groups, clients)


def used_up(
    quota: str, owner: str, what: str, listed: Callable[[], Iterable[str]], clients: AwsClients
) -> Iterator[str]:
    """Yield that somebody has as many of these as a quota of EKS allows; not everybody may read quotas."""
    try:
        with refused("quota"):
            asked = clients.client("service-quotas").get_service_quota(ServiceCode="eks", QuotaCode=quota)
            names = [*listed()]
    except ProviderError:
        return
    most = int(asked["Quota"]["Value"])
    if len(names) >= most:
        yield f"{owner} has {len(names)} {what}, and may have {most}: ask AWS for a higher quota ({quota})"
