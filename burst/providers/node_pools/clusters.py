"""What a cloud brings that makes whole clusters: one a burst, with its nodes. Its calls may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from burst.lifecycle.records import PREFIX, ResourceKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.node_pools.access import ClusterEndpoint
    from burst.providers.provider import WantedBurst

KIND = "cluster"
_SUFFIX = "-cluster"


class BurstClusters(Protocol):
    """Clusters of one account in one region. Each call raises ProviderError.

    A cluster has the labels of `joining.workers.labels_of`; nodes in it have the label of
    `kubernetes.made_nodes` and no taint, as what every cluster has for itself runs there too.
    """

    @property
    def name(self) -> str:
        """The provider's name in the settings."""

    @property
    def location(self) -> str:
        """Account or project, and region or zone, without a call."""

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings, with the fee of a cluster. This makes no call."""

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the cluster, and then its nodes, which alone cost money by their number."""

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make one of these, unless it is there. Raises NameTaken."""

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of one of these; one of somebody else's is absent."""

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete one of these; what has to go before it goes first."""

    def are_nodes_going(self, wanted: WantedBurst) -> bool:
        """Return whether a burst's nodes are being deleted, or are not there."""

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all clusters, and nodes, that an installation has made, what goes first before the others."""

    def problems(self) -> Iterable[str]:
        """Return what is wrong with settings, credentials, and what the account may have."""

    def endpoint(self, wanted: WantedBurst) -> ClusterEndpoint:
        """Ask the cloud where the API server of a burst's cluster is."""

    def token(self, wanted: WantedBurst) -> str:
        """Return a token for it, which is secret."""


def cluster_key(label: str) -> ResourceKey:
    """Return the key of a burst's cluster; its name is another one than that of the pods."""
    return ResourceKey(KIND, f"{PREFIX}{label}{_SUFFIX}")


def is_named(name: str) -> bool:
    """Return whether a cluster may be a burst's, by its name."""
    return name.startswith(PREFIX) and name.endswith(_SUFFIX)


def label_in(name: str) -> str:
    """Return the burst's label in the name of its cluster."""
    return name.removeprefix(PREFIX).removesuffix(_SUFFIX)
