"""Amazon EKS, rehearsed: node groups of one cluster, and the machines that EC2 has for them.

The words are EKS's REST interface (2017-11-01): CreateNodegroup, DescribeNodegroup, ListNodegroups,
DeleteNodegroup, DescribeCluster. What else is asked of AWS is in `aws_queries`, at the same address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.rehearsal.cloud import CloudCapacityError, CloudFault
from burst.rehearsal.server import NO_ANSWER, CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from burst.rehearsal.cloud import CloudGroup, FaultOrder, RehearsedCloud
    from burst.rehearsal.server import CloudRequest

TAG_CLUSTER, TAG_GROUP = "eks:cluster-name", "eks:nodegroup-name"
_GROUPS = r"/clusters/([^/]+)/node-groups"
_REFUSED: Mapping[CloudFault, tuple[int, str, str]] = {
    CloudFault.UNAVAILABLE: (503, "ServiceUnavailableException", "The service is unavailable."),
    CloudFault.THROTTLED: (429, "ThrottlingException", "Rate exceeded"),
    CloudFault.DENIED: (403, "ExpiredTokenException", "The security token included is expired"),
    CloudFault.QUOTA: (400, "ResourceLimitExceededException", "Maximum number of nodegroups reached"),
}
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
    """One cluster of an account."""

    cloud: RehearsedCloud
    cluster: str = "far"
    account: str = "123456789012"
    region: str = "eu-central-1"
    status: str = "ACTIVE"
    version: str = "1.36"
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
    _tokens: dict[str, CloudGroup] = field(default_factory=dict)
    """What each token of a creation has made."""

    def routes(self) -> list[CloudRoute]:
        """Return what it answers."""
        named = rf"{_GROUPS}/([^/]+)"
        return [
            CloudRoute("GET", r"/clusters/([^/]+)", self._served("eks.DescribeCluster", self._cluster)),
            CloudRoute("POST", _GROUPS, self._served("eks.CreateNodegroup", self._create)),
            CloudRoute("GET", _GROUPS, self._served("eks.ListNodegroups", self._list)),
            CloudRoute("GET", named, self._served("eks.DescribeNodegroup", self._describe)),
            CloudRoute("DELETE", named, self._served("eks.DeleteNodegroup", self._delete)),
        ]

    def unknown(self, request: CloudRequest) -> CloudAnswer:
        """Answer what EKS does not have."""
        return refusal(404, "ResourceNotFoundException", f"{request.method} {request.path} is not there")

    def _served(
        self, call: str, serve: Callable[[CloudRequest, FaultOrder | None], CloudAnswer]
    ) -> Callable[[CloudRequest], CloudAnswer]:
        def answer(request: CloudRequest) -> CloudAnswer:
            order = self.cloud.called(call)
            if call in self.denied:
                return refusal(403, "AccessDeniedException", "User is not authorized")
            if order is not None and order.fault in _REFUSED:
                return refusal(*_REFUSED[order.fault], after=order.after)
            if request.parts[0] != self.cluster:
                name = request.parts[0]
                return refusal(404, "ResourceNotFoundException", f"No cluster found for name: {name}.")
            found = serve(request, order)
            return NO_ANSWER if order is not None and order.fault is CloudFault.ANSWER_LOST else found

        return answer

    def _cluster(self, _request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        found = {
            "name": self.cluster,
            "arn": f"arn:aws:eks:{self.region}:{self.account}:cluster/{self.cluster}",
            "status": self.status,
            "version": self.version,
            "endpoint": self.api_server,
            "certificateAuthority": {"data": self.authority},
            "resourcesVpcConfig": {"vpcId": self.vpc},
            "health": {"issues": self.issues},
        }
        return CloudAnswer(body={"cluster": found})

    def _create(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        wanted = request.json()
        token = wanted.get("clientRequestToken", "")
        if token in self._tokens:
            return self._answer(self._tokens[token])
        name, size = wanted["nodegroupName"], int(wanted["scalingConfig"]["desiredSize"])
        if self.cloud.group(self.cluster, name) is not None:
            words = f"NodeGroup already exists with name {name} and cluster name {self.cluster}"
            return refusal(409, "ResourceInUseException", words)
        [kind] = wanted["instanceTypes"]
        is_spot = wanted.get("capacityType") == "SPOT"
        if kind not in (self.cloud.spot_prices if is_spot else self.cloud.prices):
            return refusal(400, "InvalidParameterException", f"The instance type {kind} is not supported")
        try:
            made = self.cloud.make(
                self.cluster,
                name,
                kind,
                size,
                {TAG_CLUSTER: self.cluster, TAG_GROUP: name},
                is_spot=is_spot,
                fault=order.fault if order is not None else None,
                detail={**wanted, "fault": order.fault if order is not None else None},
            )
        except CloudCapacityError as error:
            return refusal(400, "ResourceLimitExceededException", str(error))
        self._tokens[token] = made
        return self._answer(made)

    def _list(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        names = sorted(each.name for each in self.cloud.listed_groups(self.cluster))
        first = int(request.value("nextToken", "0"))
        more = first + self.page < len(names)
        following = {"nextToken": str(first + self.page)} if more else {}
        return CloudAnswer(body={"nodegroups": names[first : first + self.page], **following})

    def _describe(self, request: CloudRequest, _order: FaultOrder | None) -> CloudAnswer:
        found = self.cloud.group(self.cluster, request.parts[1])
        return self._answer(found) if found is not None else _no_group(request.parts[1])

    def _delete(self, request: CloudRequest, order: FaultOrder | None) -> CloudAnswer:
        found = self.cloud.group(self.cluster, request.parts[1])
        if found is None:
            return _no_group(request.parts[1])
        self.cloud.delete(found, order.fault if order is not None else None)
        return self._answer(found)

    def _answer(self, group: CloudGroup) -> CloudAnswer:
        wanted = group.detail
        status, code = self._state(group)
        issue = {"code": code, "message": _message(group, code), "resourceIds": [group.name]}
        arn = f"arn:aws:eks:{self.region}:{self.account}:nodegroup/{self.cluster}/{group.name}/1"
        found = {
            "nodegroupName": group.name,
            "nodegroupArn": arn,
            "clusterName": self.cluster,
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


def refusal(status: int, code: str, message: str, after: float = 0.0) -> CloudAnswer:
    """Return a refusal in EKS's words."""
    headers = {"x-amzn-ErrorType": code, **({"Retry-After": f"{after:.0f}"} if after else {})}
    return CloudAnswer(status, {"message": message}, headers)
