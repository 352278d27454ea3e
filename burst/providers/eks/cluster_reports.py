"""What a cluster of EKS means: one phase, with the reason in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.joining.workers import LABEL_BURST, LABEL_OWNER
from burst.lifecycle.records import ResourcePhase, ResourceReport
from burst.providers.node_pools.clusters import cluster_key, label_in

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def report(wanted: WantedBurst, cluster: EksClusterAnswer | None) -> ResourceReport:
    """Return the status of a burst's cluster."""
    if cluster is None or not is_of(cluster, wanted):
        return ResourceReport(cluster_key(wanted.label), ResourcePhase.ABSENT, nodes=0)
    return listed(cluster)


def listed(cluster: EksClusterAnswer) -> ResourceReport:
    """Return the status of a cluster that an installation has made."""
    status, issues = cluster["status"], list(_issues(cluster))
    phase = _PHASES.get(status, ResourcePhase.COMING)
    reason = f"{status}: {'; '.join(issues)}" if issues else ""
    if not reason and phase is ResourcePhase.BROKEN:
        reason = f"{status}, and EKS gives no reason"
    key, since = cluster_key(label_in(cluster["name"])), cluster["createdAt"].timestamp()
    return ResourceReport(key, phase, reason, *owner(cluster), since, 0)


def _issues(cluster: EksClusterAnswer) -> Iterator[str]:
    for each in (cluster.get("health") or {}).get("issues") or ():
        code, message = each.get("code", ""), each.get("message", "")
        words = f"{ISSUES[code]}: " if code in ISSUES else ""
        yield f"{words}{message} ({code})"
