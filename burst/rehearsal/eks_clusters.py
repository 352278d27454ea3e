"""Clusters of a rehearsed EKS: CreateCluster, DescribeCluster, ListClusters, DeleteCluster, and versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.eks_refusals import refusal
from burst.rehearsal.server import CloudAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from burst.rehearsal.cloud import CloudGroup, FaultOrder, RehearsedCloud
    from burst.rehearsal.server import CloudRequest

CLUSTERS = "clusters"
"""The parent of all clusters that are made."""
VERSIONS = "eks.DescribeClusterVersions"
ACTIVE = "ACTIVE"
_NO_ADDRESSES = ("InsufficientFreeAddresses", "Subnets have too few free IP addresses")
_IN_USE = ("Other", "The security group of the cluster has a dependent object")


class EksRegion(Protocol):
    """What an account has in a region besides the clusters that are made."""

    cloud: RehearsedCloud
    cluster: str
    account: str
    region: str
    status: str
    version: str
    versions: Mapping[str, str]
    api_server: str
    authority: str
    vpc: str
    issues: list[dict[str, Any]]
    cluster_quota: int | None
    cluster_tokens: dict[str, CloudGroup]

    def paged(self, kind: str, names: Sequence[str], request: CloudRequest) -> CloudAnswer:
        """Answer with one page of names."""


@dataclass
class EksClusterCalls:
    """The calls about clusters."""

    eks: EksRegion

    def create(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        """Answer CreateCluster."""
        cloud, wanted = self.eks.cloud, request.json()
        token, name, fault = wanted["clientRequestToken"], wanted["name"], order.fault if order else None
        if token in self.eks.cluster_tokens:
            return self._answer(self.eks.cluster_tokens[token])
        if name == self.eks.cluster or cloud.group(CLUSTERS, name) is not None:
            return refusal(409, "ResourceInUseException", f"Cluster already exists with name: {name}")
        made = [each for each in cloud.groups if each.parent == CLUSTERS and each.is_there(cloud.now())]
        if self.eks.cluster_quota is not None and len(made) >= self.eks.cluster_quota:
            words = f"Cluster limit exceeded: {self.eks.cluster_quota} clusters"
            return refusal(400, "ResourceLimitExceededException", words)
        if fault is CloudFault.NO_CAPACITY:
            words = f"Cannot create cluster '{name}': {self.eks.region}c does not have sufficient capacity"
            return refusal(400, "UnsupportedAvailabilityZoneException", words)
        self.eks.cluster_tokens[token] = cloud.make_cluster(
            CLUSTERS, name, wanted.get("tags", {}), wanted, fault
        )
        return self._answer(self.eks.cluster_tokens[token])

    def list(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        """Answer ListClusters."""
        made = (each.name for each in self.eks.cloud.listed_groups(CLUSTERS))
        return self.eks.paged("clusters", sorted((self.eks.cluster, *made)), request)

    def describe(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        """Answer DescribeCluster."""
        found = self.eks.cloud.group(CLUSTERS, request.parts[0])
        return self._answer(found) if found is not None else self._own()

    def delete(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        """Answer DeleteCluster."""
        cloud, name = self.eks.cloud, request.parts[0]
        found, now = cloud.group(CLUSTERS, name), cloud.now()
        if found is None:
            return refusal(400, "InvalidRequestException", f"Cluster '{name}' is not to be deleted here")
        if any(each.parent == name and each.is_there(now) for each in cloud.groups):
            return refusal(409, "ResourceInUseException", "Cluster has nodegroups attached")
        if state(found, now)[0] == "CREATING":
            return refusal(409, "ResourceInUseException", f"Cluster '{name}' is currently being created")
        cloud.delete(found, order.fault if order is not None else None)
        return self._answer(found)

    def versions(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        """Answer DescribeClusterVersions."""
        wanted = request.query.get("clusterVersions") or list(self.eks.versions)
        found = [
            {"clusterVersion": each, "versionStatus": self.eks.versions[each]}
            for each in wanted
            if each in self.eks.versions
        ]
        return CloudAnswer(body={"clusterVersions": found})

    def _own(self) -> CloudAnswer:
        found = {
            **self._common(self.eks.cluster),
            "status": self.eks.status,
            "version": self.eks.version,
            **self._reached(),
            "resourcesVpcConfig": {"vpcId": self.eks.vpc},
            "health": {"issues": self.eks.issues},
        }
        return CloudAnswer(body={"cluster": found})

    def _answer(self, group: CloudGroup) -> CloudAnswer:
        status, issue = state(group, self.eks.cloud.now())
        shown = {key: group.detail[key] for key in _SHOWN if key in group.detail}
        issues = [dict(zip(("code", "message"), issue, strict=True))] if issue else []
        found = {
            **self._common(group.name),
            "createdAt": group.created,
            "status": status,
            "version": self.eks.version,
            **(self._reached() if status == ACTIVE else {}),
            "health": {"issues": issues},
            **shown,
        }
        return CloudAnswer(body={"cluster": found})

    def _common(self, name: str) -> dict[str, Any]:
        return {"name": name, "arn": f"arn:aws:eks:{self.eks.region}:{self.eks.account}:cluster/{name}"}

    def _reached(self) -> dict[str, Any]:
        return {"endpoint": self.eks.api_server, "certificateAuthority": {"data": self.eks.authority}}


def state(cluster: CloudGroup, now: float) -> tuple[str, tuple[str, str] | None]:
    """Return the status of a cluster, and code and message of its issue."""
    if cluster.is_going(now):
        return "DELETING", None
    if cluster.fails is not None and now >= cluster.fails:
        return "FAILED", _IN_USE
    if now < cluster.ready:
        return "CREATING", None
    return ("FAILED", _NO_ADDRESSES) if cluster.problem else (ACTIVE, None)


_SHOWN = ("accessConfig", "resourcesVpcConfig", "roleArn", "tags", "upgradePolicy", "version")
