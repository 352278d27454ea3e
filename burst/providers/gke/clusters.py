"""The clusters of bursts, each with its one node pool: made, read and deleted by Google's client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid, NameTaken, RetryLater
from burst.providers import cloud_machines
from burst.providers.gke import cluster_preflight, machines, reports
from burst.providers.gke.cluster import as_pool, cluster_of, key_of
from burst.providers.gke.pools import endpoint_of
from burst.providers.google.api_errors import CONFLICT, or_absent
from burst.providers.google.credentials import TIMEOUT, GoogleAccount
from burst.providers.google.settings import chosen
from burst.providers.node_pools.clusters import cluster_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.planning.records import Offer
    from burst.providers.gke.settings import GkeClusterCreation, GkeSettings
    from burst.providers.google.credentials import GoogleClients
    from burst.providers.node_pools.access import ClusterEndpoint
    from burst.providers.provider import WantedBurst

STOPPING = "STOPPING"


class GkeClusters:
    """One cluster a burst, with one node pool, which GKE makes and deletes with it; see `BurstClusters`."""

    def __init__(
        self,
        name: str,
        settings: GkeSettings,
        creation: GkeClusterCreation,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._where = settings.where
        self.location = f"gke/{self._where}/{settings.namespace}"
        self._settings = settings
        self._creation = creation
        self._now = now
        self._account = GoogleAccount(name, settings)

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the price table, with the fee of a cluster."""
        rows, creation = self._settings.machines, self._creation
        return cloud_machines.offers(self.name, rows, creation.fee, creation.ready_seconds)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the cluster, which has the nodes: GKE makes none without a pool."""
        return (key_of(wanted.label, wanted.nodes),)

    def create(self, _key: ResourceKey, _token: str, wanted: WantedBurst) -> None:
        """Make a burst's cluster with its nodes, unless it is there: its name is what makes it once."""
        machine = chosen(self.name, self._settings.machines, wanted)
        wish = cluster_of(self._settings, self._creation, machine, wanted, self._now())
        with self._account.visit(self._where) as clients:
            if self._is_there(clients, wanted):
                return
            request = {"parent": self._settings.parent, "cluster": wish}
            try:
                clients.clusters.create_cluster(request=request, retry=None, timeout=TIMEOUT)
            except Exception as error:
                if getattr(error, "code", 0) != CONFLICT or not self._is_there(clients, wanted):
                    raise

    def get(self, _key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's cluster, with the machines that Compute Engine lists."""
        with self._account.visit(self._where) as clients:
            found = self._found(clients, wanted)
            there = machines.of_burst(clients, self._settings, wanted)
            if found is None:
                there = machines.still_there(clients, self._settings, there)
        return reports.report(wanted, as_pool(found) if found is not None else None, there, key_of)

    def delete(self, _key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a burst's cluster, or machines that have outlived it."""
        with self._account.visit(self._where) as clients:
            found = self._found(clients, wanted)
            if found is None:
                machines.delete_left(clients, self._settings, wanted, self._where)
            elif as_pool(found).is_of(wanted) and found.status.name != STOPPING:
                request, call = {"name": self._path(wanted)}, clients.clusters.delete_cluster
                or_absent(lambda: call(request=request, retry=None, timeout=TIMEOUT))

    def are_nodes_going(self, wanted: WantedBurst) -> bool:
        """Return whether a burst's cluster is being deleted, or is not there."""
        with self._account.visit(self._where) as clients:
            found = self._found(clients, wanted)
        return found is None or not as_pool(found).is_of(wanted) or found.status.name == STOPPING

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all clusters, and machines without one, that an installation has made in this location."""
        with self._account.visit(self._where) as clients:
            request = {"parent": self._settings.parent}
            answer = clients.clusters.list_clusters(request=request, retry=None, timeout=TIMEOUT)
            if answer.missing_zones:
                zones = ", ".join(answer.missing_zones)
                raise RetryLater(f"{self._where}: zones {zones} are not reached: what is there is not known")
            found = [as_pool(each) for each in answer.clusters]
            there = machines.owned(clients, self._settings, installation)
        return reports.listed(installation, found, there, key_of)

    def problems(self) -> Iterable[str]:
        """Return what is wrong with credentials, rights, version, network, machines and quotas."""
        return cluster_preflight.problems(self._account, self._settings, self._creation)

    def endpoint(self, wanted: WantedBurst) -> ClusterEndpoint:
        """Return where the API server of a burst's cluster is. Raises ProviderError."""
        with self._account.visit(self._where) as clients:
            found = self._found(clients, wanted)
            if found is None:
                raise CallInvalid(f"{self._where}: there is no cluster {cluster_key(wanted.label).name}")
            return endpoint_of(found, self._settings.control_plane, self._where)

    def token(self, _wanted: WantedBurst) -> str:
        """Return a token for it. Raises ProviderError."""
        return self._account.token(self._where)

    def _is_there(self, clients: GoogleClients, wanted: WantedBurst) -> bool:
        """Return whether a burst's cluster is there. Raises NameTaken and RetryLater where none can be."""
        found = self._found(clients, wanted)
        if found is None:
            return False
        if not as_pool(found).is_of(wanted):
            raise NameTaken(f"cluster {found.name} is there, and not of this burst")
        if found.status.name == STOPPING:
            raise RetryLater(f"cluster {found.name} of this burst is being deleted")
        return True

    def _found(self, clients: GoogleClients, wanted: WantedBurst) -> Any:
        """Return a burst's cluster as GKE has it; None: there is none."""
        request, call = {"name": self._path(wanted)}, clients.clusters.get_cluster
        return or_absent(lambda: call(request=request, retry=None, timeout=TIMEOUT))

    def _path(self, wanted: WantedBurst) -> str:
        return f"{self._settings.parent}/clusters/{cluster_key(wanted.label).name}"
