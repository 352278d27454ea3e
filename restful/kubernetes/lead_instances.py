"""Connects to the instance of a MiniCluster, or states why that cannot be: called by threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minicluster.instance.errors import InstanceGone
from minicluster.lead_client.errors import LeadError, LeadTokenError
from minicluster.lead_client.instances import open_instance
from minicluster.plan.constants import LEAD_API_PORT
from restful.kubernetes.observed import BEGINNING, DELETED

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.kube_client.objects import Name
    from restful.kubernetes.job_keys import JobKeys
    from restful.kubernetes.observed import FoundCluster, MiniClusters


class LeadEndpoint(NamedTuple):
    """Where a lead's API is."""

    host: str
    port: int


def by_name(cluster: FoundCluster) -> LeadEndpoint:
    """Return where the lead of a MiniCluster is by the DNS of its cluster."""
    return LeadEndpoint(cluster.host, LEAD_API_PORT)


class LeadInstances:
    """Opens instances by what is known of their MiniClusters now."""

    def __init__(
        self,
        found: MiniClusters,
        keys: JobKeys,
        endpoint: Callable[[FoundCluster], LeadEndpoint] = by_name,
    ) -> None:
        self._found = found
        self._keys = keys
        self._endpoint = endpoint

    def open(self, name: Name, uid: str) -> Instance:
        """Connect to the lead of the MiniCluster with this name and UID. Raises InstanceGone."""
        cluster = self._found.clusters.get(name)
        if cluster is None or cluster.uid != uid:
            raise InstanceGone(DELETED)
        if cluster.unreachable:
            raise InstanceGone(f"its MiniCluster {cluster.unreachable}")
        keys = self._keys.current
        if not keys:
            raise InstanceGone(self._keys.trouble)
        host, port = self._endpoint(cluster)
        try:
            return open_instance(uid, host, keys, called=str(name), port=port)
        except LeadTokenError as error:
            self._keys.refused()
            raise InstanceGone(str(error)) from error
        except LeadError as error:
            beginning = f"its MiniCluster begins (phase {cluster.phase or 'not set'}): "
            raise InstanceGone(f"{beginning if cluster.phase in BEGINNING else ''}{error}") from error
