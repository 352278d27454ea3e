"""The interface of a provider: seven calls, each of which may be repeated.

They block, and are called in threads. Each raises ProviderError; any other exception, as of a lost
connection, is taken for one that may succeed later. A call that raised may have taken effect all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.planning.records import Offer
    from minicluster.instance.port import Instance


class WantedBurst(NamedTuple):
    """What a provider has to know of a burst."""

    label: str
    """Short, lower case: resources are named and labelled by it."""
    installation: str
    """Who makes it: a further label."""
    nodes: int
    machine: str
    spot: bool
    until: float
    """In seconds since 1970: what can end by itself ends then, even if nobody is left to end it."""
    cluster: str = ""
    """The uid of the MiniCluster that its brokers join; empty where only its end is wanted."""
    slot: str = ""
    """The slot of that MiniCluster."""
    isolated: bool = False
    """Whether its brokers join no other ones: they are an instance of their own, with a certificate of its
    own, for one job of that MiniCluster."""


class BurstProvider(Protocol):
    """Makes machines in one location."""

    @property
    def name(self) -> str:
        """Its name in the settings."""

    @property
    def location(self) -> str:
        """Where it makes them: account and region, cluster and namespace."""

    def offers(self) -> Sequence[Offer]:
        """Return the machines that it has. This makes no call."""

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return what it would make, in that order: each once the one before is ready. This makes no call."""

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        """Make a resource, unless it is there. The token is the same whenever it is asked again.

        Raises NameTaken if something that is not of this burst has the name.
        """

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return the status of a resource; one of somebody else's is absent."""

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return in one line what a broker wrote about why it has not joined; empty if that is not known.

        It is asked for once, when a burst fails before it has run any job.
        """

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a resource. One that is absent, or not of this burst, is left alone."""

    def problems(self) -> Iterable[str]:
        """Return what is wrong with its settings, credentials and the way there; nothing if all is well."""

    def tunnel_problems(self) -> Iterable[str]:
        """Return what is wrong besides where brokers reach their lead by a tunnel of this provider."""

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List everything in the location that an installation has made, whatever it was made for."""


@runtime_checkable
class IsolatingProvider(Protocol):
    """A provider that makes isolated bursts as well. Without this a provider makes those that join alone."""

    def instance(self, wanted: WantedBurst) -> Instance:
        """Connect to the instance of an isolated burst. Raises RetryLater while none answers."""

    def isolation_problems(self) -> Iterable[str]:
        """Return what is wrong besides where bursts are isolated."""
