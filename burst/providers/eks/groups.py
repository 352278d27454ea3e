"""The node groups of bursts in one cluster: each call is one visit to AWS, or a few."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.errors import NameTaken, RetryLater
from burst.joining.workers import labels_of
from burst.lifecycle.records import PREFIX
from burst.providers import cloud_machines
from burst.providers.cloud_machines import chosen
from burst.providers.eks import preflight, reports
from burst.providers.eks.aws_errors import IN_USE, code
from burst.providers.eks.clients import refused
from burst.providers.eks.reports import KIND, GroupMachine
from burst.providers.kubernetes import made_nodes
from burst.providers.node_pools.access import ClusterEndpoint
from burst.providers.node_pools.pools import pool_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.eks.clients import AwsClients
    from burst.providers.eks.reports import NodeGroup
    from burst.providers.eks.settings import EksSettings
    from burst.providers.provider import WantedBurst

TAG_CLUSTER, TAG_GROUP = "eks:cluster-name", "eks:nodegroup-name"
"""With what EKS tags the machines of its node groups; tags of the groups themselves are not on them."""
COSTING = ("pending", "running", "stopping", "stopped")
"""States of machines that are there, or may be. One that shuts down does not cost any more."""
TAINT = "NO_SCHEDULE"


class EksGroups:
    """One managed node group a burst, of as many nodes as that has, neither more nor fewer."""

    kind = KIND

    def __init__(self, name: str, settings: EksSettings, clients: AwsClients, own_cluster: str = "") -> None:
        """`own_cluster` is the name of a cluster that one burst has for itself, in place of the settings'.

        Its nodes have no taint: what every cluster has for itself, such as its name service, runs there too.
        """
        self.name = name
        self._cluster = own_cluster or settings.cluster.name
        self._is_tainted = not own_cluster
        self.location = f"{settings.location}/{settings.namespace}"
        self._settings = settings
        self._clients = clients

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings."""
        return cloud_machines.offers(self.name, self._settings.machines)

    def create(self, wanted: WantedBurst, token: str) -> None:
        """Make a burst's node group, unless it is there. Raises NameTaken."""
        request = self._request(wanted, token)
        found = self.described(request["nodegroupName"])
        if found is None:
            found = self._created(request)
        if not reports.is_of(found, wanted):
            raise NameTaken(f"node group {request['nodegroupName']} is there, and not of this burst")

    def get(self, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's node group."""
        name = _name(wanted)
        group = self.described(name)
        return reports.report(wanted, group, self.machines(name))

    def delete(self, wanted: WantedBurst) -> None:
        """Begin to delete a burst's node group, and once more one whose deletion has failed."""
        name = _name(wanted)
        found = self.described(name)
        if found is None or not reports.is_of(found, wanted) or found["status"] == "DELETING":
            return
        with refused(self.location):
            eks = self._clients.client("eks")
            try:
                eks.delete_nodegroup(clusterName=self._cluster, nodegroupName=name)
            except eks.exceptions.ResourceNotFoundException:
                return

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all node groups of an installation, and machines that have outlived theirs."""
        machines = self.machines(f"{PREFIX}*")
        names = {*filter(_is_named, self.names()), *(each.group for each in machines)}
        groups = [found for each in sorted(names) if (found := self.described(each)) is not None]
        return reports.listed(installation, groups, machines)

    def problems(self) -> Iterable[str]:
        """Return what is wrong with credentials, cluster, role, subnets and quotas."""
        return preflight.problems(self._settings, self._clients, self.location)

    def endpoint(self) -> ClusterEndpoint:
        """Return where the cluster's API server is. Raises ProviderError."""
        with refused(self.location):
            found = self._clients.client("eks").describe_cluster(name=self._cluster)["cluster"]
        if "endpoint" not in found:
            raise RetryLater(f"{self.location}: cluster {self._cluster} is {found['status']}")
        return ClusterEndpoint(found["endpoint"], found.get("certificateAuthority", {}).get("data", ""))

    def token(self) -> str:
        """Return a token for the cluster's API server. Raises ProviderError."""
        return self._clients.token(self._cluster)

    def _request(self, wanted: WantedBurst, token: str) -> dict[str, Any]:
        settings = self._settings
        machine = chosen(self.name, settings.machines, wanted.machine, wanted.nodes, is_spot=wanted.spot)
        size = wanted.nodes
        key, value = next(iter(made_nodes.selector(wanted).items()))
        optional = {"amiType": settings.ami_type, "releaseVersion": settings.release_version}
        return {
            "clusterName": self._cluster,
            "nodegroupName": _name(wanted),
            "clientRequestToken": token,
            "scalingConfig": {"minSize": size, "maxSize": size, "desiredSize": size},
            "capacityType": "SPOT" if wanted.spot else "ON_DEMAND",
            "instanceTypes": [machine.machine],
            "diskSize": settings.disk_gib,
            "subnets": list(settings.subnets),
            "nodeRole": settings.node_role,
            "labels": made_nodes.selector(wanted),
            "taints": [{"key": key, "value": value, "effect": TAINT}] if self._is_tainted else [],
            "tags": labels_of(wanted),
            **{name: value for name, value in optional.items() if value},
        }

    def _created(self, request: dict[str, Any]) -> NodeGroup:
        """Make a node group; return it, or the one that has its name by now."""
        with refused(self.location):
            eks = self._clients.client("eks")
            try:
                made: NodeGroup = eks.create_nodegroup(**request)["nodegroup"]
            except eks.exceptions.ClientError as error:
                found = self.described(request["nodegroupName"]) if code(error.response) == IN_USE else None
                if found is None:
                    raise
                return found
        return made

    def described(self, name: str) -> NodeGroup | None:
        """Return the node group that has a name; None: there is none."""
        with refused(self.location):
            eks = self._clients.client("eks")
            try:
                answer = eks.describe_nodegroup(clusterName=self._cluster, nodegroupName=name)
            except eks.exceptions.ResourceNotFoundException:
                return None
        found: NodeGroup = answer["nodegroup"]
        return found

    def names(self) -> list[str]:
        """Return the names of all node groups of the cluster. Raises CallInvalid if it is not there."""
        with refused(self.location):
            pages = self._clients.client("eks").get_paginator("list_nodegroups")
            found = pages.paginate(clusterName=self._cluster)
            return [name for page in found for name in page["nodegroups"]]

    def is_going(self, wanted: WantedBurst) -> bool:
        """Return whether a burst's node group is being deleted, or is not there."""
        found = self.described(_name(wanted))
        return found is None or not reports.is_of(found, wanted) or found["status"] == "DELETING"

    def machines(self, group: str) -> list[GroupMachine]:
        """Return the machines that cost money, of the groups with a name; it may end with an asterisk."""
        wanted = {
            f"tag:{TAG_CLUSTER}": [self._cluster],
            f"tag:{TAG_GROUP}": [group],
            "instance-state-name": list(COSTING),
        }
        filters = [{"Name": name, "Values": values} for name, values in wanted.items()]
        with refused(self.location):
            pages = self._clients.client("ec2").get_paginator("describe_instances").paginate(Filters=filters)
            found = [one for page in pages for each in page["Reservations"] for one in each["Instances"]]
        return [GroupMachine(_tag(each, TAG_GROUP), each["LaunchTime"].timestamp()) for each in found]


def _name(wanted: WantedBurst) -> str:
    return pool_key(KIND, wanted.label, wanted.nodes).name


def _is_named(name: str) -> bool:
    return name.startswith(PREFIX)


def _tag(machine: dict[str, Any], key: str) -> str:
    return next((str(each["Value"]) for each in machine.get("Tags", ()) if each["Key"] == key), "")
