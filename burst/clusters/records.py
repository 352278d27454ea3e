"""A MiniCluster whose jobs may burst, and what is set for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from burst.lifecycle.states import Timeouts
from burst.planning.records import BurstSelection, Durations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from burst.joining.records import JoinSettings
    from burst.planning.records import BudgetLimit
    from minicluster.document import BurstStatus, MiniCluster
    from minicluster.instance.port import Instance


@dataclass(frozen=True, slots=True)
class BurstingCluster:
    """A MiniCluster with slots that are managed."""

    uid: str
    """Another one with the same name, later on, has another one."""
    name: str
    """By which people know it: `mc` on this machine, `namespace/mc` on Kubernetes."""
    title: str
    """NAMESPACE/NAME, as budgets of the settings have it."""
    document: MiniCluster
    connect: Callable[[], Instance]
    """Connects to its instance. Blocks; raises InstanceError and BackendError."""
    join: Callable[[str], JoinSettings]
    """Returns what brokers in a slot need. Blocks; raises LeadAway where its lead cannot be reached yet.

    Also AccessDenied where that may not be read, and NameTaken.
    """
    unfit: Mapping[str, str] = field(default_factory=dict)
    """Kinds of providers whose brokers cannot join it, and why, with what would be right."""
    problem: str = ""
    """Why nothing of it bursts, whatever is set; empty if all is well."""
    is_ending: bool = False
    """Whether it is being deleted, and stays until its bursts are."""
    is_tunneled: bool = False
    """Whether brokers reach its lead by a tunnel of their provider."""
    join_machines: Callable[[str], JoinSettings] | None = None
    """As `join`, for machines that are no pods; None: they cannot."""
    alone: Callable[[], JoinSettings] | None = None
    """Returns what brokers need that do not join it: its document, without certificate and address.

    Blocks; raises as `join`. None: nothing of it runs in an instance of its own.
    """

    @property
    def is_isolated(self) -> bool:
        """Whether each job that bursts runs in an instance of its own."""
        found = self.document.spec.bursting
        return found is not None and not found.join


@dataclass(frozen=True, slots=True)
class ClusterPolicy:
    """What is set for one MiniCluster, by its document and by the settings of the service."""

    providers: tuple[str, ...] = ()
    """The names of those that it may use."""
    selection: BurstSelection = field(default_factory=BurstSelection)
    durations: Durations = field(default_factory=Durations)
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: tuple[BudgetLimit, ...] = ()
    """What its bursts may cost. Each is kept."""
    is_isolated: bool = False
    """Whether each job runs in an instance of its own."""
    is_dry: bool = True
    """Whether plans are shown only."""
    most_nodes: int | None = None
    """Of all its bursts together."""
    most_bursts: int | None = None
    """At a time."""
    problem: str = ""
    """Why nothing of it bursts; empty if all is well."""


MACHINE_KINDS = frozenset({"compute-engine"})
"""Kinds of providers whose machines are no pods: they get the certificate from the lead's API."""


class ClusterSource(Protocol):
    """Finds the MiniClusters. One that it finds no more is gone."""

    location: str
    """Where they are, in words."""
    key: str
    """What distinguishes it from others: each has a ledger of its own. Empty: this machine."""

    def clusters(self) -> list[BurstingCluster]:
        """Return those that there are now, by name. Blocks; raises BackendError."""
        ...

    def withdraw(self, open_clusters: AbstractSet[str]) -> None:
        """Take back what was made for bursts beside MiniClusters whose uids are not among these.

        Blocks; raises BackendError. Where nothing is left it does nothing.
        """
        ...

    def publish(self, bursts: Mapping[str, tuple[BurstStatus, ...]]) -> None:
        """Show the open bursts of each MiniCluster, by uid; one that is not among these has none.

        Blocks; raises BackendError. What has not changed costs nothing.
        """
        ...
