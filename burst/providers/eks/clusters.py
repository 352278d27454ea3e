"""The clusters of bursts, each with one node group: made, read and deleted by AWS's client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid, NameTaken, RetryLater
from burst.joining.workers import labels_of
from burst.lifecycle.records import PREFIX
from burst.providers import cloud_machines
from burst.providers.eks import cluster_preflight, cluster_reports, reports
from burst.providers.eks.cluster_calls import AwsClusterCalls
from burst.providers.eks.groups import EksGroups
from burst.providers.node_pools import pools
from burst.providers.node_pools.clusters import KIND, cluster_key, is_named
from burst.providers.node_pools.pools import pool_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.planning.records import Offer
    from burst.providers.eks.clients import AwsClients
    from burst.providers.eks.reports import GroupMachine, NodeGroup
    from burst.providers.eks.settings import EksClusterCreation, EksSettings
    from burst.providers.node_pools.access import ClusterEndpoint
    from burst.providers.provider import WantedBurst

_ANY = f"{PREFIX}*"


class EksClusters:
    """One cluster a burst, with one managed node group in it; see `BurstClusters`."""

    def __init__(
        self, name: str, settings: EksSettings, creation: EksClusterCreation, clients: AwsClients
    ) -> None:
        self.name = name
        self.location = f"{settings.location}/{settings.namespace}"
        self._settings = settings
        self._creation = creation
        self._clients = clients
        self._calls = AwsClusterCalls(clients, self.location)

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings, with the fee of a cluster."""
        machines, creation = self._settings.machines, self._creation
        return cloud_machines.offers(self.name, machines, creation.fee, creation.ready_seconds)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the cluster, by which its nodes are counted, and its node group."""
        cluster = cluster_reports.key_of(wanted.label, wanted.nodes)
        return (cluster, pool_key(reports.KIND, wanted.label, 0))

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make the cluster, or the node group in it, unless it is there. Raises NameTaken."""
        if key.kind != KIND:
            self._groups(wanted).create(wanted, token)
            return
        request = self._request(wanted, token)
        found = self._calls.described(request["name"])
        if found is None:
            found = self._calls.created(request)
        if not cluster_reports.is_of(found, wanted):
            raise NameTaken(f"cluster {request['name']} is there, and not of this burst")

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of the cluster, or of its node group."""
        if key.kind != KIND:
            return _uncounted(self._groups(wanted).get(wanted))
        machines = self._groups(wanted).machines(_ANY)
        return cluster_reports.report(wanted, self._calls.described(_name(wanted)), machines)

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete the node group, or the cluster, which EKS deletes only once it has none."""
        name = _name(wanted)
        found = self._calls.described(name)
        if found is None or not cluster_reports.is_of(found, wanted) or found["status"] == "DELETING":
            return
        groups = self._groups(wanted)
        if key.kind != KIND:
            groups.delete(wanted)
            return
        if names := groups.names():
            groups.delete(wanted)
            others = [each for each in names if each != self.resources(wanted)[-1].name]
            if others:
                raise RetryLater(
                    f"cluster {name} has node groups that are not of its burst: {', '.join(others)}"
                )
            return
        self._calls.delete(name)

    def are_nodes_going(self, wanted: WantedBurst) -> bool:
        """Return whether a burst's node group is being deleted, or is not there."""
        return self._groups(wanted).is_going(wanted)

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List node groups and clusters of an installation, and machines that have outlived theirs."""
        machines = EksGroups(self.name, self._settings, self._clients, _ANY).machines(_ANY)
        names = {*filter(is_named, self._calls.names()), *(_cluster_of(each) for each in machines)}
        there = [found for each in sorted(names) if (found := self._calls.described(each)) is not None]
        own = [each for each in there if cluster_reports.owner(each)[1] == installation]
        others = {each["name"] for each in there} - {each["name"] for each in own}
        groups = [group for each in own for group in self._groups_in(each["name"])]
        known = [one for one in machines if _cluster_of(one) not in others]
        nodes = map(_uncounted, reports.listed(installation, groups, known))
        by_name: dict[str, list[GroupMachine]] = {each["name"]: [] for each in own}
        left: dict[str, list[GroupMachine]] = {}
        for one in known:
            (by_name if _cluster_of(one) in by_name else left).setdefault(_cluster_of(one), []).append(one)
        clusters = [cluster_reports.listed(each, by_name[each["name"]]) for each in own]
        gone = [cluster_reports.outlived(installation, name, each) for name, each in left.items()]
        return [*nodes, *clusters, *gone]

    def problems(self) -> Iterable[str]:
        """Return what is wrong with credentials, roles, subnets, version and quotas."""
        return cluster_preflight.problems(self._settings, self._creation, self._clients, self.location)

    def endpoint(self, wanted: WantedBurst) -> ClusterEndpoint:
        """Return where the API server of a burst's cluster is. Raises ProviderError."""
        return self._groups(wanted).endpoint()

    def token(self, wanted: WantedBurst) -> str:
        """Return a token for it. Raises ProviderError."""
        return self._groups(wanted).token()

    def _groups(self, wanted: WantedBurst) -> EksGroups:
        return EksGroups(self.name, self._settings, self._clients, _name(wanted))

    def _groups_in(self, cluster: str) -> Iterator[NodeGroup]:
        """Yield the node groups of a cluster; none where it has gone meanwhile."""
        groups = EksGroups(self.name, self._settings, self._clients, cluster)
        try:
            names = groups.names()
        except CallInvalid:
            if self._calls.described(cluster) is None:
                return
            raise
        yield from filter(None, map(groups.described, names))

    def _request(self, wanted: WantedBurst, token: str) -> dict[str, Any]:
        settings, creation = self._settings, self._creation
        cloud_machines.chosen(self.name, settings.machines, wanted.machine, wanted.nodes, is_spot=wanted.spot)
        network: dict[str, Any] = {
            "subnetIds": list(creation.subnets),
            "securityGroupIds": list(creation.security_groups),
            "endpointPublicAccess": True,
            "endpointPrivateAccess": True,  # nodes need no way through the Internet to it
        }
        if creation.public_access_cidrs:
            network["publicAccessCidrs"] = list(creation.public_access_cidrs)
        return {
            "name": _name(wanted),
            "clientRequestToken": token,
            "roleArn": creation.cluster_role,
            "resourcesVpcConfig": network,
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
            "upgradePolicy": {"supportType": "STANDARD"},  # extended support costs six times the fee
            "tags": labels_of(wanted),
            **({"version": creation.version} if creation.version else {}),
        }


def _name(wanted: WantedBurst) -> str:
    return cluster_key(wanted.label).name


def _cluster_of(machine: GroupMachine) -> str:
    return cluster_key(pools.label_in(machine.group)).name


def _uncounted(status: ResourceReport) -> ResourceReport:
    """Return a node group's report without its nodes, which are the cluster's."""
    return status._replace(key=status.key._replace(nodes=0), nodes=0)
