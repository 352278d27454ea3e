"""What a cluster of EKS means: one phase, with the reason in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.joining.workers import LABEL_BURST, LABEL_OWNER, ends_of
from burst.lifecycle.records import ResourcePhase, ResourceReport
from burst.providers.node_pools.clusters import cluster_key, label_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.lifecycle.records import ResourceKey
    from burst.providers.eks.reports import GroupMachine
    from burst.providers.provider import WantedBurst

EksClusterAnswer = dict[str, Any]
"""As DescribeCluster answers."""

_PHASES = {
    "CREATING": ResourcePhase.COMING,
    "PENDING": ResourcePhase.COMING,
    "ACTIVE": ResourcePhase.READY,
    "UPDATING": ResourcePhase.READY,
    "DELETING": ResourcePhase.GOING,
    "FAILED": ResourcePhase.BROKEN,
}
ISSUES = {
    "AccessDenied": "the cluster role lacks a right: right would be the policy AmazonEKSClusterPolicy",
    "ClusterUnreachable": "EKS does not reach the cluster's API server",
    "Ec2SecurityGroupNotFound": "a security group of the settings is not there",
    "Ec2SubnetNotFound": "a subnet of cluster.create is not there",
    "IamRoleNotFound": "the cluster role of the settings is not there",
    "InsufficientFreeAddresses": "the subnets of cluster.create have too few free addresses: use larger ones",
    "ResourceLimitExceeded": "the account may not have more: ask AWS for a higher quota",
    "UnsupportedVersion": "EKS has this version of Kubernetes no more",
    "VpcNotFound": "the VPC of the subnets is not there",
}
"""What codes of issues mean to an administrator."""


def is_of(cluster: EksClusterAnswer, wanted: WantedBurst) -> bool:
    """Return whether a cluster is one of a burst."""
    return owner(cluster) == (wanted.label, wanted.installation)


def owner(cluster: EksClusterAnswer) -> tuple[str, str]:
    """Return the label of the burst and the installation that a cluster has; empty where it has none."""
    tags = cluster.get("tags") or {}
    return str(tags.get(LABEL_BURST, "")), str(tags.get(LABEL_OWNER, ""))


def key_of(label: str, nodes: int) -> ResourceKey:
    """Return the key of a burst's cluster, which has the nodes: they are counted while it is there."""
    return cluster_key(label)._replace(nodes=nodes)


def report(
    wanted: WantedBurst, cluster: EksClusterAnswer | None, machines: Sequence[GroupMachine]
) -> ResourceReport:
    """Return the status of a burst's cluster. Machines that have outlived it are still to go."""
    key = key_of(wanted.label, wanted.nodes)
    if cluster is not None and is_of(cluster, wanted):
        return listed(cluster, machines)._replace(key=key)
    if cluster is not None or not machines:
        return ResourceReport(key, ResourcePhase.ABSENT, nodes=0)
    return outlived(wanted.installation, key.name, machines)._replace(key=key)


def outlived(installation: str, cluster: str, machines: Sequence[GroupMachine]) -> ResourceReport:
    """Return what machines are whose cluster is gone. Of them only the burst is known."""
    label, reason = label_in(cluster), f"it is gone, and {len(machines)} of its machines are still there"
    since = min(each.launched for each in machines)
    key = key_of(label, len(machines))
    return ResourceReport(key, ResourcePhase.GOING, reason, label, installation, since, len(machines))


def listed(cluster: EksClusterAnswer, machines: Sequence[GroupMachine]) -> ResourceReport:
    """Return the status of a cluster that an installation has made, with its machines."""
    status, issues = cluster["status"], list(_issues(cluster))
    phase = _PHASES.get(status, ResourcePhase.COMING)
    reason = f"{status}: {'; '.join(issues)}" if issues else ""
    if not reason and phase is ResourcePhase.BROKEN:
        reason = f"{status}, and EKS gives no reason"
    key = key_of(label_in(cluster["name"]), len(machines))
    since = min((each.launched for each in machines), default=cluster["createdAt"].timestamp())
    until = ends_of(cluster.get("tags") or {})
    return ResourceReport(key, phase, reason, *owner(cluster), since, len(machines), until)


def _issues(cluster: EksClusterAnswer) -> Iterator[str]:
    for each in (cluster.get("health") or {}).get("issues") or ():
        code, message = each.get("code", ""), each.get("message", "")
        words = f"{ISSUES[code]}: " if code in ISSUES else ""
        yield f"{words}{message} ({code})"
