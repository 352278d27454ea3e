"""The MiniClusters of a Kubernetes cluster whose bursts are managed by a service in it.

It needs no more than these rights: to get, list and patch MiniClusters, to patch their status, to get the
Secret with the operator's keys for bursts, and what exposing leads takes (`burst.joining.exposure`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
from burst.joining.records import LeadHost
from minicluster.instance.errors import InstanceGone
from minicluster.lead_client.errors import LeadError, LeadTokenError
from minicluster.lead_client.instances import open_instance, read_curve_certificate, read_machine_access
from minicluster.lead_client.lead_host import lead_host
from minicluster.plan.constants import LEAD_API_PORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.document import MiniCluster
    from minicluster.instance.port import Instance
    from minicluster.kube_client.access import Access
    from minicluster.lead_client.machine_access import MachineAccess
    from minicluster.lead_client.purpose_keys import PurposeKeys

T = TypeVar("T")


class LeadKeySource(Protocol):
    """Where keys for bursts come from, such as `BurstKeys`."""

    @property
    def trouble(self) -> str:
        """Why there are none; empty: there are."""
        ...

    def current(self) -> tuple[PurposeKeys, ...]:
        """Return those to show, the newest first. May block."""
        ...

    def refused(self) -> None:
        """Note that a lead did not accept them."""
        ...


def by_name(found: MiniCluster) -> tuple[str, int]:
    """Return where the API of a MiniCluster's lead is, by the DNS of its cluster."""
    return lead_host(found.model_dump(mode="json", by_alias=True)), LEAD_API_PORT


class KeyReach:
    """Reaches leads by their APIs; see `LeadReach`.

    `tunnels` is the namespace of the pods of tunnels; empty: there are none.
    """

    def __init__(
        self, keys: LeadKeySource, endpoint: Callable[[MiniCluster], tuple[str, int]], tunnels: str = ""
    ) -> None:
        self._keys = keys
        self._endpoint = endpoint
        self._tunnels = tunnels

    def connect(self, found: MiniCluster) -> Instance:
        """Connect to its instance. Raises InstanceGone."""
        host, port = self._endpoint(found)
        called = f"{found.metadata.namespace}/{found.metadata.name}"
        try:
            return self._shown(
                lambda keys: open_instance(found.metadata.uid, host, keys, called=called, port=port)
            )
        except LeadError as error:
            raise InstanceGone(str(error)) from error

    def certificate(self, found: MiniCluster) -> str:
        """Return the text of the CURVE certificate. Raises LeadError."""
        host, port = self._endpoint(found)
        return self._shown(lambda keys: read_curve_certificate(found.metadata.uid, host, keys, port=port))

    def machines(self, found: MiniCluster) -> MachineAccess:
        """Return how machines that are no pods get the certificate. Raises LeadError."""
        host, port = self._endpoint(found)
        return self._shown(lambda keys: read_machine_access(found.metadata.uid, host, keys, port=port))

    def route(self, found: MiniCluster) -> LeadHost | None:
        """Return how pods of tunnels reach its broker; None where none are made.

        A process beside the service would end with its pod.
        """
        if not self._tunnels:
            return None
        host, _ = self._endpoint(found)
        return LeadHost(host, found.spec.network.port, self._tunnels)

    def _shown(self, work: Callable[[tuple[PurposeKeys, ...]], T]) -> T:
        """Return what comes of showing the keys. Raises LeadError."""
        keys = self._keys.current()
        if not keys:
            raise LeadError(self._keys.trouble)
        try:
            return work(keys)
        except LeadTokenError:
            self._keys.refused()
            raise


class ServedClusters(KubernetesClusters):
    """Those of some namespaces, or of all where none is named; see `ClusterSource`."""

    def __init__(
        self,
        access: Access,
        keys: LeadKeySource,
        namespaces: tuple[str, ...] = (),
        endpoint: Callable[[MiniCluster], tuple[str, int]] = by_name,
        tunnels: str = "",
    ) -> None:
        """Read the credentials. `tunnels` is the namespace of tunnels' pods. Raises BackendError."""
        choice = NamespaceChoice(access, everywhere=not namespaces, namespaces=namespaces)
        super().__init__(choice, KeyReach(keys, endpoint, tunnels))
