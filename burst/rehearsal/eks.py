"""Amazon EKS, rehearsed: clusters with node groups, and the machines that EC2 has for them.

The words are EKS's REST interface (2017-11-01). One cluster is there from the beginning; others are made and
deleted by what is in `eks_clusters`. What else is asked of AWS is in `aws_queries`, at the same address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.rehearsal.cloud import CloudCapacityError, CloudFault
from burst.rehearsal.eks_clusters import ACTIVE, CLUSTERS, VERSIONS, EksClusterCalls, state
from burst.rehearsal.eks_refusals import REFUSED, refusal
from burst.rehearsal.server import NO_ANSWER, CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from burst.rehearsal.cloud import CloudGroup, FaultOrder, RehearsedCloud
    from burst.rehearsal.server import CloudRequest

TAG_CLUSTER, TAG_GROUP = "eks:cluster-name", "eks:nodegroup-name"
_GROUPS = r"/clusters/([^/]+)/node-groups"
_ISSUES = {
    CloudFault.BROKEN: ("NodeCreationFailure", "Instances failed to join the kubernetes cluster"),
    CloudFault.FAILS: (
        "Ec2SecurityGroupDeletionFailure",
        "DependencyViolation - resource has a dependent object",
    ),
}
_STOCK_OUT = "AsgInstanceLaunchFailures"


@dataclass
class RehearsedEks:
    """The clusters of an account in a region: one that is there, and those that are made."""

    cloud: RehearsedCloud
    cluster: str = "far"
    account: str = "123456789012"
    region: str = "eu-central-1"
    status: str = "ACTIVE"
    version: str = "1.36"
    versions: Mapping[str, str] = field(
        default_factory=lambda: {
            "1.30": "UNSUPPORTED",
            "1.33": "EXTENDED_SUPPORT",
            "1.36": "STANDARD_SUPPORT",
        }
    )
    """Of Kubernetes, with their status."""
    cluster_quota: int | None = None
    """How many clusters may be made at one time."""
    api_server: str = "https://far.eks.example.org"
    authority: str = ""
    """Base64 of the certificates of the API server's authority."""
    vpc: str = "vpc-1"
    page: int = 2
    """How many things a listing has at most in one answer."""
    denied: set[str] = field(default_factory=set)
    """Calls for which the credentials have no right, such as `ec2.DescribeSubnets`."""
    issues: list[dict[str, Any]] = field(default_factory=list)
    """Of the cluster."""
    cluster_tokens: dict[str, CloudGroup] = field(default_factory=dict)
    """What each token of the creation of a cluster has made."""
    _tokens: dict[str, CloudGroup] = field(default_factory=dict)
    """The same of node groups."""

    def routes(self) -> list[CloudRoute]:
        """Return what it answers."""
        named = rf"{_GROUPS}/([^/]+)"
        clusters = EksClusterCalls(self)
        return [
            CloudRoute("GET", "/clusters", self.served("eks.ListClusters", clusters.list)),
            CloudRoute("POST", "/clusters", self.served("eks.CreateCluster", clusters.create)),
            CloudRoute("GET", "/cluster-versions", self.served(VERSIONS, clusters.versions)),
            CloudRoute("GET", r"/clusters/([^/]+)", self.served("eks.DescribeCluster", clusters.describe)),
            CloudRoute("DELETE", r"/clusters/([^/]+)", self.served("eks.DeleteCluster", clusters.delete)),
            CloudRoute("POST", _GROUPS, self.served("eks.CreateNodegroup", self._create)),
            CloudRoute("GET", _GROUPS, self.served("eks.ListNodegroups", self._list)),
            CloudRoute("GET", named, self.served("eks.DescribeNodegroup", self._describe)),
            CloudRoute("DELETE", named, self.served("eks.DeleteNodegroup", self._delete)),
        ]

    def unknown(self, request: CloudRequest) -> CloudAnswer:
        """Answer what EKS does not have."""
        return refusal(404, "ResourceNotFoundException", f"{request.method} {request.path} is not there")

    def served(
        self, call: str, serve: Callable[[CloudRequest, FaultOrder | None], CloudAnswer]
    ) -> Callable[[CloudRequest], CloudAnswer]:
        """Return what answers a call, by a function that gets what happens to it."""

        def answer(request: CloudRequest) -> CloudAnswer:
            order = self.cloud.called(call)
            if call in self.denied:
                return refusal(403, "AccessDeniedException", "User is not authorized")
            if order is not None and order.fault in REFUSED:
                return refusal(*REFUSED[order.fault], after=order.after)
            if request.parts and not self.has(name := request.parts[0]):
                return refusal(404, "ResourceNotFoundException", f"No cluster found for name: {name}.")
            found = serve(request, order)
            return NO_ANSWER if order is not None and order.fault is CloudFault.ANSWER_LOST else found

        return answer

    def cluster_status(self, name: str) -> str:
        """Return the status of a cluster, in EKS's words."""
        found = self.cloud.group(CLUSTERS, name)
        return self.status if found is None else state(found, self.cloud.now())[0]

    def has(self, cluster: str) -> bool:
        """Return whether there is a cluster of a name."""
        return cluster == self.cluster or self.cloud.group(CLUSTERS, cluster) is not None

    def _create(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        cluster, wanted = request.parts[0], request.json()
        token = wanted.get("clientRequestToken", "")
        if token in self._tokens:
            return self._answer(self._tokens[token])
        if (status := self.cluster_status(cluster)) != ACTIVE:
            return refusal(400, "InvalidRequestException", f"Cluster '{cluster}' is in {status} status")
        name, size = wanted["nodegroupName"], int(wanted["scalingConfig"]["desiredSize"])
        if self.cloud.group(cluster, name) is not None:
            words = f"NodeGroup already exists with name {name} and cluster name {cluster}"
            return refusal(409, "ResourceInUseException", words)
        [kind] = wanted["instanceTypes"]
        is_spot = wanted.get("capacityType") == "SPOT"
        if kind not in (self.cloud.spot_prices if is_spot else self.cloud.prices):
            return refusal(400, "InvalidParameterException", f"The instance type {kind} is not supported")
        try:
            made = self.cloud.make(
                cluster,
                name,
                kind,
                size,
                {TAG_CLUSTER: cluster, TAG_GROUP: name},
                is_spot=is_spot,
                fault=order.fault if order is not None else None,
                detail={**wanted, "fault": order.fault if order is not None else None},
            )
        except CloudCapacityError as error:
            return refusal(400, "ResourceLimitExceededException", str(error))
        self._tokens[token] = made
        return self._answer(made)

    def _list(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        names = sorted(each.name for each in self.cloud.listed_groups(request.parts[0]))
        return self.paged("nodegroups", names, request)

    def paged(self, kind: str, names: Sequence[str], request: CloudRequest) -> CloudAnswer:
        """Answer with one page of names."""
        first = int(request.value("nextToken", "0"))
        more = first + self.page < len(names)
        following = {"nextToken": str(first + self.page)} if more else {}
        return CloudAnswer(body={kind: names[first : first + self.page], **following})

    def _describe(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        found = self.cloud.group(*request.parts[:2])
        return self._answer(found) if found is not None else _no_group(request.parts[1])

    def _delete(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        found = self.cloud.group(*request.parts[:2])
        if found is None:
            return _no_group(request.parts[1])
        self.cloud.delete(found, order.fault if order is not None else None)
        return self._answer(found)

    def _answer(self, group: CloudGroup) -> CloudAnswer:
        wanted = group.detail
        status, code = self._state(group)
        issue = {"code": code, "message": _message(group, code), "resourceIds": [group.name]}
        arn = f"arn:aws:eks:{self.region}:{self.account}:nodegroup/{group.parent}/{group.name}/1"
        found = {
            "nodegroupName": group.name,
            "nodegroupArn": arn,
            "clusterName": group.parent,
            "createdAt": group.created,
            "status": status,
            "health": {"issues": [issue] if code else []},
            **{key: wanted[key] for key in _SHOWN if key in wanted},
        }
        return CloudAnswer(body={"nodegroup": found})

    def _state(self, group: CloudGroup) -> tuple[str, str]:
        """Return status and code of its issue."""
        now = self.cloud.now()
        if group.is_going(now):
            return "DELETING", ""
        if group.fails is not None and now >= group.fails:
            return "DELETE_FAILED", _ISSUES[CloudFault.FAILS][0]
        if now < group.ready:
            return "CREATING", ""
        if group.problem:
            broken = group.detail.get("fault") is CloudFault.BROKEN
            return "CREATE_FAILED", _ISSUES[CloudFault.BROKEN][0] if broken else _STOCK_OUT
        there = [each for each in self.cloud.there() if each.group == group.name]
        return ("ACTIVE", "") if len(there) >= group.size else ("DEGRADED", _STOCK_OUT)


_SHOWN = (
    "amiType",
    "capacityType",
    "diskSize",
    "instanceTypes",
    "labels",
    "nodeRole",
    "releaseVersion",
    "scalingConfig",
    "subnets",
    "tags",
    "taints",
)


def _message(group: CloudGroup, code: str) -> str:
    known = dict(_ISSUES.values())
    return known.get(code) or group.problem or "Could not launch Spot Instances. InsufficientInstanceCapacity"


def _no_group(name: str) -> CloudAnswer:
    return refusal(404, "ResourceNotFoundException", f"No node group found for name: {name}.")
