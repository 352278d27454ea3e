"""What a provider of EKS asks besides: EC2's machines and subnets, IAM's role, and a quota.

All are a POST to `/`. EC2 and IAM take a form and answer in XML, their query protocols; Service Quotas
speaks JSON.
"""

from __future__ import annotations

import fnmatch
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.server import NO_ANSWER, CloudAnswer, CloudRoute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.rehearsal.cloud import CloudMachine
    from burst.rehearsal.eks import RehearsedEks
    from burst.rehearsal.server import CloudRequest

_XML = {"Content-Type": "text/xml;charset=UTF-8"}
GROUPS_QUOTA = "L-6D54EA21"
"""The code of how many node groups a cluster may have."""
_ASKED = {
    "DescribeInstances": "ec2.DescribeInstances",
    "DescribeSubnets": "ec2.DescribeSubnets",
    "GetRole": "iam.GetRole",
}
_REFUSED: Mapping[CloudFault, tuple[int, str, str]] = {
    CloudFault.UNAVAILABLE: (503, "Unavailable", "The service is unavailable."),
    CloudFault.THROTTLED: (503, "RequestLimitExceeded", "Request limit exceeded."),
    CloudFault.DENIED: (403, "UnauthorizedOperation", "Not authorized"),
}


@dataclass
class AwsQueries:
    """What there is besides node groups."""

    eks: RehearsedEks
    subnets: dict[str, int] = field(default_factory=lambda: {"subnet-1": 250, "subnet-2": 250})
    """Free addresses by subnet."""
    zones: dict[str, str] = field(default_factory=dict)
    """The zone of a subnet, if it is not one of its own."""
    elsewhere: set[str] = field(default_factory=set)
    """Subnets of another VPC."""
    roles: set[str] = field(default_factory=lambda: {"burst-nodes", "burst-clusters"})
    group_quota: int = 30
    """How many node groups a cluster may have."""
    cluster_quota: int = 100
    """How many clusters the account may have."""

    def routes(self) -> list[CloudRoute]:
        """Return what it answers."""
        return [CloudRoute("POST", "/", self._answer)]

    def _answer(self, request: CloudRequest) -> CloudAnswer:
        if request.headers.get("x-amz-target", "").endswith(".GetServiceQuota"):
            return self._quota(request)
        form = {key: values[0] for key, values in parse_qs(request.body.decode()).items()}
        action = form.get("Action", "")
        call = _ASKED.get(action, action)
        order = self.eks.cloud.called(call)
        if call in self.eks.denied:
            return _refusal(*_REFUSED[CloudFault.DENIED])
        if order is not None and order.fault in _REFUSED:
            return _refusal(*_REFUSED[order.fault])
        if action == "DescribeInstances":
            found = self._instances(form)
        elif action == "DescribeSubnets":
            found = self._subnets(form)
        elif action == "GetRole":
            found = self._role(form)
        else:
            found = _refusal(400, "InvalidAction", f"The action {action} is not valid")
        return NO_ANSWER if order is not None and order.fault is CloudFault.ANSWER_LOST else found

    def _instances(self, form: Mapping[str, str]) -> CloudAnswer:
        wanted = _filters(form)
        found = [each for each in self.eks.cloud.listed_machines({}) if _matches(each, wanted)]
        first, page = int(form.get("NextToken", "0")), self.eks.page
        following = f"<nextToken>{first + page}</nextToken>" if first + page < len(found) else ""
        items = "".join(_reservation(each) for each in found[first : first + page])
        return _answered("DescribeInstances", f"<reservationSet>{items}</reservationSet>{following}")

    def _subnets(self, form: Mapping[str, str]) -> CloudAnswer:
        names = [value for key, value in form.items() if key.startswith("SubnetId.")]
        for name in names:
            if name not in self.subnets:
                return _refusal(400, "InvalidSubnetID.NotFound", f"The subnet ID '{name}' does not exist")
        items = "".join(
            _item(
                subnetId=name,
                vpcId="vpc-other" if name in self.elsewhere else self.eks.vpc,
                availableIpAddressCount=self.subnets[name],
                availabilityZone=f"{self.eks.region}{self.zones.get(name, name[-1])}",
            )
            for name in names
        )
        return _answered("DescribeSubnets", f"<subnetSet>{items}</subnetSet>")

    def _role(self, form: Mapping[str, str]) -> CloudAnswer:
        name = form.get("RoleName", "")
        if name not in self.roles:
            return _refusal(404, "NoSuchEntity", f"The role with name {name} cannot be found.")
        about = {"RoleName": name, "Path": "/", "RoleId": "AROA1", "CreateDate": "2026-01-01T00:00:00Z"}
        arn = f"arn:aws:iam::{self.eks.account}:role/{name}"
        role = _fields({**about, "Arn": arn})
        text = f"<GetRoleResponse><GetRoleResult><Role>{role}</Role></GetRoleResult></GetRoleResponse>"
        return CloudAnswer(200, text.encode(), _XML)

    def _quota(self, request: CloudRequest) -> CloudAnswer:
        call = "servicequotas.GetServiceQuota"
        self.eks.cloud.called(call)
        if call in self.eks.denied:
            body = {"__type": "AccessDeniedException", "Message": "not authorized"}
            return CloudAnswer(400, body, {"Content-Type": "application/x-amz-json-1.1"})
        is_of_groups = request.json().get("QuotaCode") == GROUPS_QUOTA
        most = self.group_quota if is_of_groups else self.cluster_quota
        return CloudAnswer(200, {"Quota": {"ServiceCode": "eks", "Value": float(most)}})


def instance_id(machine: CloudMachine) -> str:
    """Return the id of a machine at EC2."""
    return f"i-{hashlib.sha256(f'{machine.name}/{machine.started}'.encode()).hexdigest()[:17]}"


def _filters(form: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in form.items():
        parts = key.split(".")
        if parts[0] == "Filter" and parts[2] == "Name":
            values = [text for each, text in form.items() if each.startswith(f"Filter.{parts[1]}.Value.")]
            found[name] = values
    return found


def _matches(machine: CloudMachine, wanted: Mapping[str, list[str]]) -> bool:
    for name, values in wanted.items():
        if name == "instance-state-name":
            text = "running"
        else:
            text = str(machine.labels.get(name.removeprefix("tag:"), ""))
        if not any(fnmatch.fnmatchcase(text, each) for each in values):
            return False
    return True


def _reservation(machine: CloudMachine) -> str:
    launched = datetime.fromtimestamp(machine.started, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    tags = "".join(_item(key=key, value=value) for key, value in machine.labels.items())
    names = {"instanceId": instance_id(machine), "instanceType": machine.kind}
    about = _fields({**names, "launchTime": launched})
    state = "<instanceState><code>16</code><name>running</name></instanceState>"
    instance = f"<item>{about}{state}<tagSet>{tags}</tagSet></item>"
    return f"<item><instancesSet>{instance}</instancesSet></item>"


def _item(**fields: Any) -> str:
    return f"<item>{_fields(fields)}</item>"


def _fields(fields: Mapping[str, Any]) -> str:
    return "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in fields.items())


def _answered(action: str, body: str) -> CloudAnswer:
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    text = f'<{action}Response xmlns="{space}"><requestId>1</requestId>{body}</{action}Response>'
    return CloudAnswer(200, text.encode(), _XML)


def _refusal(status: int, code: str, message: str) -> CloudAnswer:
    error = f"<Error>{_fields({'Code': code, 'Message': message})}</Error>"
    text = f"<Response><Errors>{error}</Errors><RequestID>1</RequestID></Response>"
    return CloudAnswer(status, text.encode(), _XML)
