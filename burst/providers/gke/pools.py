"""The calls that make, read and delete node pools. Each may be repeated."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from burst.errors import NameTaken, RetryLater
from burst.providers import cloud_machines
from burst.providers.gke import machines, preflight, reports
from burst.providers.gke.node_pool import KIND, node_pool, pool_name
from burst.providers.google.api_errors import CONFLICT, or_absent
from burst.providers.google.credentials import TIMEOUT, GoogleAccount
from burst.providers.google.settings import chosen
from burst.providers.node_pools.access import ClusterEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.gke.reports import FoundPool
    from burst.providers.gke.settings import ControlPlane, GkeSettings
    from burst.providers.google.credentials import GoogleClients
    from burst.providers.provider import WantedBurst


class GkeNodePools:
    """The node pools of one cluster; see `NodePools`."""

    kind = KIND

    def __init__(self, name: str, settings: GkeSettings, now: Callable[[], float] = time.time) -> None:
        self.name = name
        self._where = settings.where
        self.location = f"gke/{self._where}/{settings.namespace}"
        self._settings = settings
        self._now = now
        self._account = GoogleAccount(name, settings)

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the price table."""
        return cloud_machines.offers(self.name, self._settings.machines)

    def create(self, wanted: WantedBurst, _token: str) -> None:
        """Make a burst's pool, unless it is there: its name is what makes it once."""
        machine = chosen(self.name, self._settings.machines, wanted)
        with self._account.visit(self._where) as clients:
            if self._is_there(clients, wanted):
                return
            channel = cluster(clients, self._settings).release_channel.channel
            wish = node_pool(self._settings, machine, wanted, self._now(), in_channel=bool(channel))
            request = {"parent": self._settings.path, "node_pool": wish}
            try:
                clients.clusters.create_node_pool(request=request, retry=None, timeout=TIMEOUT)
            except Exception as error:
                if getattr(error, "code", 0) != CONFLICT or not self._is_there(clients, wanted):
                    raise

    def get(self, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's pool, with the machines that Compute Engine lists."""
        with self._account.visit(self._where) as clients:
            pool = self._pool(clients, wanted)
            there = machines.of_burst(clients, self._settings, wanted)
            if pool is None:
                there = machines.still_there(clients, self._settings, there)
        return reports.report(wanted, pool, there)

    def delete(self, wanted: WantedBurst) -> None:
        """Begin to delete a burst's pool, or machines that have outlived it."""
        with self._account.visit(self._where) as clients:
            pool = self._pool(clients, wanted)
            if pool is None:
                machines.delete_left(clients, self._settings, wanted, self._where)
            elif pool.is_of(wanted) and pool.status != "STOPPING":
                request = {"name": f"{self._settings.path}/nodePools/{pool.name}"}
                call = clients.clusters.delete_node_pool
                or_absent(lambda: call(request=request, retry=None, timeout=TIMEOUT))

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all pools, and machines without one, that an installation has made in this cluster."""
        with self._account.visit(self._where) as clients:
            request = {"parent": self._settings.path}
            answer = clients.clusters.list_node_pools(request=request, retry=None, timeout=TIMEOUT)
            pools = [reports.read(each) for each in answer.node_pools]
            there = machines.owned(clients, self._settings, installation)
        return reports.listed(installation, pools, there)

    def problems(self) -> Iterable[str]:
        """Return what is wrong with credentials, rights, cluster, machines and quotas."""
        return preflight.problems(self._account, self._settings, self._where)

    def endpoint(self) -> ClusterEndpoint:
        """Return where the API server is. Raises ProviderError."""
        with self._account.visit(self._where) as clients:
            return endpoint_of(cluster(clients, self._settings), self._settings.control_plane, self._where)

    def token(self) -> str:
        """Return a token for the API server. Raises ProviderError."""
        return self._account.token(self._where)

    def _is_there(self, clients: GoogleClients, wanted: WantedBurst) -> bool:
        """Return whether a burst's pool is there. Raises NameTaken and RetryLater where it cannot be made."""
        found = self._pool(clients, wanted)
        if found is None:
            return False
        if not found.is_of(wanted):
            raise NameTaken(f"node pool {found.name} is there, and not of this burst")
        if found.status == "STOPPING":
            raise RetryLater(f"node pool {found.name} of this burst is being deleted")
        return True

    def _pool(self, clients: GoogleClients, wanted: WantedBurst) -> FoundPool | None:
        request = {"name": f"{self._settings.path}/nodePools/{pool_name(wanted)}"}
        call = clients.clusters.get_node_pool
        found = or_absent(lambda: call(request=request, retry=None, timeout=TIMEOUT))
        return reports.read(found) if found is not None else None


def cluster(clients: GoogleClients, settings: GkeSettings) -> Any:
    """Return the cluster as GKE has it."""
    return clients.clusters.get_cluster(request={"name": settings.path}, retry=None, timeout=TIMEOUT)


def endpoint_of(found: Any, control_plane: ControlPlane, where: str) -> ClusterEndpoint:
    """Return where a cluster's API server is. Raises RetryLater where it has no such address."""
    authority = str(found.master_auth.cluster_ca_certificate)
    match control_plane:
        case "dns":
            host = found.control_plane_endpoints_config.dns_endpoint_config.endpoint
            authority = ""  # its certificate is one that everybody trusts
        case "private":
            host = found.private_cluster_config.private_endpoint
        case _:
            host = found.endpoint
    if not host:
        raise RetryLater(f"{where}: the cluster has no {control_plane} address of its API server")
    return ClusterEndpoint(f"https://{host}", authority)
