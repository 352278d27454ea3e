"""What a node group and its machines mean: one phase, with the reason in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.joining.workers import LABEL_BURST, LABEL_OWNER, ends_of
from burst.lifecycle.records import PREFIX, ResourceKey, ResourcePhase, ResourceReport
from burst.providers.node_pools.pools import label_in, pool_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from burst.providers.provider import WantedBurst

KIND = "node-group"
NodeGroup = dict[str, Any]
"""As DescribeNodegroup answers."""

_PHASES = {
    "CREATING": ResourcePhase.COMING,
    "UPDATING": ResourcePhase.COMING,
    "ACTIVE": ResourcePhase.READY,
    "DEGRADED": ResourcePhase.BROKEN,
    "CREATE_FAILED": ResourcePhase.BROKEN,
    "DELETING": ResourcePhase.GOING,
    "DELETE_FAILED": ResourcePhase.BROKEN,
}
ISSUES = {
    "AccessDenied": "its nodes, or the cluster, lack a right",
    "AsgInstanceLaunchFailures": "its machines could not be launched: there are none now, or the account"
    " may not have more",
    "AutoScalingGroupNotFound": "somebody has deleted its Auto Scaling group",
    "ClusterUnreachable": "EKS does not reach the cluster's API server",
    "Ec2InstanceTypeDoesNotExist": "the region has no such type of machine",
    "Ec2LaunchTemplateNotFound": "somebody has deleted its launch template",
    "Ec2SecurityGroupDeletionFailure": "its security group is still used by something, such as a network"
    " interface that was left over: delete that",
    "Ec2SubnetInvalidConfiguration": "its subnet gives no public addresses, and has no other way out",
    "Ec2SubnetNotFound": "a subnet of the settings is not there",
    "IamNodeRoleNotFound": "the node role of the settings is not there",
    "InstanceLimitExceeded": "the account may not have more machines: ask AWS for a higher quota",
    "InsufficientFreeAddresses": "its subnets have too few free addresses: use larger ones",
    "NodeCreationFailure": "its machines run, and did not join the cluster: see the policies of the node"
    " role, and the way from its subnets to the API server",
    "PodEvictionFailure": "pods on its nodes do not go",
}
"""What codes of issues mean to an administrator."""


class GroupMachine(NamedTuple):
    """A machine of a node group, as EC2 lists it."""

    group: str
    launched: float
    """In seconds since 1970."""


def is_of(group: NodeGroup, wanted: WantedBurst) -> bool:
    """Return whether a node group is one of a burst."""
    tags = group.get("tags") or {}
    return (tags.get(LABEL_BURST), tags.get(LABEL_OWNER)) == (wanted.label, wanted.installation)


def report(wanted: WantedBurst, group: NodeGroup | None, machines: Sequence[GroupMachine]) -> ResourceReport:
    """Return the status of a burst's node group. Machines that have outlived it are still to go."""
    key = pool_key(KIND, wanted.label, wanted.nodes)
    if group is not None and not is_of(group, wanted):
        return ResourceReport(key, ResourcePhase.ABSENT)
    if group is not None:
        return _status(key, group, machines)
    if machines:
        return _left(key, wanted.installation, machines)
    return ResourceReport(key, ResourcePhase.ABSENT)


def listed(
    installation: str, groups: Iterable[NodeGroup], machines: Sequence[GroupMachine]
) -> list[ResourceReport]:
    """Return all node groups of an installation, and machines that have none any more.

    Of such machines only the burst is known: they are in the listing of every installation.
    """
    found, by_name = [], _by_group(machines)
    for group in groups:
        tags, own = group.get("tags") or {}, by_name.pop(group["nodegroupName"], ())
        if tags.get(LABEL_OWNER) == installation and LABEL_BURST in tags:
            size = int((group.get("scalingConfig") or {}).get("desiredSize") or 0)
            status = _status(ResourceKey(KIND, group["nodegroupName"], size), group, own)
            found.append(status._replace(until=ends_of(tags)))
    for name, left in by_name.items():
        found.append(_left(ResourceKey(KIND, name, len(left)), installation, left))
    return found


def _by_group(machines: Iterable[GroupMachine]) -> dict[str, Sequence[GroupMachine]]:
    found: dict[str, list[GroupMachine]] = {}
    for each in machines:
        if each.group.startswith(PREFIX):
            found.setdefault(each.group, []).append(each)
    return dict(found)


def _status(key: ResourceKey, group: NodeGroup, machines: Sequence[GroupMachine]) -> ResourceReport:
    tags, issues = group.get("tags") or {}, list(_issues(group))
    phase = _PHASES.get(group["status"], ResourcePhase.COMING)
    reason = f"{group['status']}: {'; '.join(issues)}" if issues else ""
    if not reason and phase is ResourcePhase.BROKEN:
        reason = f"{group['status']}, and EKS gives no reason"
    if not reason and phase is ResourcePhase.COMING:
        reason = f"{len(machines)} of {key.nodes} machines are launched"
    since = min([each.launched for each in machines], default=group["createdAt"].timestamp())
    owner = (str(tags.get(LABEL_BURST, "")), str(tags.get(LABEL_OWNER, "")))
    return ResourceReport(key, phase, reason, *owner, since, len(machines))


def _left(key: ResourceKey, installation: str, machines: Sequence[GroupMachine]) -> ResourceReport:
    reason = f"it is gone, and {len(machines)} of its machines are still there"
    since = min(each.launched for each in machines)
    owner = (label_in(key.name), installation)
    return ResourceReport(key, ResourcePhase.GOING, reason, *owner, since, len(machines))


def _issues(group: Mapping[str, Any]) -> Iterable[str]:
    for each in (group.get("health") or {}).get("issues") or ():
        code, message = each.get("code", ""), each.get("message", "")
        words = f"{ISSUES[code]}: " if code in ISSUES else ""
        about = f" [{', '.join(each['resourceIds'])}]" if each.get("resourceIds") else ""
        yield f"{words}{message} ({code}){about}"
