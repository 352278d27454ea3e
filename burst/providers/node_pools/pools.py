"""What a cloud brings: pools of nodes, one a burst. Its calls block and may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from burst.lifecycle.records import PREFIX, ResourceKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.provider import WantedBurst

_SUFFIX = "-nodes"


class NodePools(Protocol):
    """The pools of one cluster. Each call raises ProviderError.

    Nodes of a pool have the label and the taint (NoSchedule) of `kubernetes.made_nodes`; the pool has the
    labels of `joining.workers.labels_of`, and its machines too where the cloud lets them.
    """

    @property
    def name(self) -> str:
        """The provider's name in the settings."""

    @property
    def location(self) -> str:
        """Account or project, region or zone, and cluster, without a call."""

    @property
    def kind(self) -> str:
        """What the cloud calls a pool, such as `node-pool`: the kind of its resource."""

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings. This makes no call."""

    def create(self, wanted: WantedBurst, token: str) -> None:
        """Make a burst's pool, unless it is there. The token is the same whenever it is asked again.

        Raises NameTaken if a pool that is not of this burst has the name.
        """

    def get(self, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a burst's pool; one of somebody else's is absent.

        Its `nodes` are the machines that the cloud lists now, its `since` the cloud's own time.
        """

    def delete(self, wanted: WantedBurst) -> None:
        """Begin to delete a burst's pool. One that is absent, or not of this burst, is left alone."""

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List all pools, and machines without one, that an installation has made in this cluster."""

    def problems(self) -> Iterable[str]:
        """Return what is wrong with settings, credentials, the cluster and what the account may have."""


def pool_key(kind: str, label: str, nodes: int) -> ResourceKey:
    """Return the key of a burst's pool; its name is another one than that of the pods."""
    return ResourceKey(kind, f"{PREFIX}{label}{_SUFFIX}", nodes)


def label_in(name: str) -> str:
    """Return the burst's label in the name of its pool."""
    return name.removeprefix(PREFIX).removesuffix(_SUFFIX)
