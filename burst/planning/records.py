"""What a plan is made from, and the plan.

Times are in seconds since 1970, durations in seconds, and money in micro-units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.formats.jobspec import RequestedResources

NO_LIMIT = 1 << 30
"""Nodes of which a provider has as many as anybody asks for."""


class NodeShape(NamedTuple):
    """What one node has."""

    cores: int
    gpus: int = 0

    def holds(self, other: NodeShape) -> bool:
        """Return whether a node of this shape can be one of another shape."""
        return self.cores >= other.cores and self.gpus >= other.gpus


class BurstableJob(NamedTuple):
    """A job that waits at a lead, with what decides whether it bursts."""

    id: int
    user: str
    """Who has to pay: the owner that the RESTful API knows, otherwise the uid."""
    request: RequestedResources
    wish: Any
    """The value of its attribute: true, or the name of a provider; None without one."""
    limit: float = 0.0
    """Its time limit, 0 without one."""
    priority: int = 16
    """0: it is on hold."""
    submitted: float = 0.0
    depends: bool = False
    """Whether it waits for other jobs, or for a time."""
    constrained: bool = False
    """Whether it has constraints besides those of its queue: then it cannot be moved."""
    fits_here: bool = True
    """Whether the MiniCluster can run it at its largest size."""


@dataclass(frozen=True, slots=True)
class BurstSelection:
    """Which jobs may burst: `spec.bursting.select` of the document."""

    after: float | None = 600.0
    """How long a job that fits here has to wait before; None: it never bursts."""
    never_fits: bool = True
    """Whether a job that never fits here bursts at once."""
    users: frozenset[str] = frozenset()
    """Whose jobs; empty: everybody's."""
    assume: float | None = None
    """The time limit of jobs that have none; None: they do not burst, as they have no cost at worst."""


class BurstSlot(NamedTuple):
    """Hosts of the MiniCluster that one burst at a time may have."""

    name: str
    size: int
    """How many hosts."""
    shape: NodeShape


class Offer(NamedTuple):
    """Machines that a provider has."""

    provider: str
    machine: str
    shape: NodeShape
    price: int = 0
    """For a node and hour."""
    most: int = NO_LIMIT
    """How many nodes of it there may be."""
    ready: float = 120.0
    """How long it takes until nodes of it can join."""
    spot: bool = False
    """Whether the provider may take it away at any time."""
    fee: int = 0
    """For an hour of a burst, besides its nodes: what a cluster of its own costs."""
    provisioning: float = 0.0
    """How long it may take until all is there, where that is longer than usual: a cluster takes its time."""


class Budget(NamedTuple):
    """An amount that nobody may exceed."""

    scope: str
    """What it is about: `all`, `provider:NAME`, `cluster:UID`, `cluster:NAMESPACE/NAME`, `user:NAME`."""
    amount: int
    spent: int = 0
    """What bursts have charged and reserved of it in this period."""

    @property
    def left(self) -> int:
        """What is left of it."""
        return self.amount - self.spent


EACH_USER = "user:*"
"""The scope of a limit that each user has for himself."""


class BudgetLimit(NamedTuple):
    """What bursts may reserve and be charged in a scope since a time. Of several of a scope each is kept."""

    scope: str
    """As of a Budget, or EACH_USER."""
    amount: int
    since: float = 0.0
    """In seconds since 1970: what is older does not count."""

    def is_about(self, scope: str) -> bool:
        """Return whether it limits a scope."""
        return scope == self.scope or (self.scope == EACH_USER and scope.startswith("user:"))


@dataclass(frozen=True, slots=True)
class Durations:
    """How long the parts of a burst's life take at most."""

    window: float = 14_400.0
    """From the start of its first job to the end of its last one."""
    provisioning: float = 600.0
    joining: float = 300.0
    draining: float = 300.0
    deleting: float = 300.0
    """What its deletion is expected to take: it goes on for as long as it takes, and costs."""


@dataclass(frozen=True, slots=True)
class BurstPlanRequest:
    """Everything that a plan for one MiniCluster depends on."""

    cluster: str
    """Its uid."""
    now: float
    jobs: tuple[BurstableJob, ...]
    slots: tuple[BurstSlot, ...]
    """Those that no burst has."""
    offers: tuple[Offer, ...]
    selection: BurstSelection = BurstSelection()
    durations: Durations = Durations()
    budgets: tuple[Budget, ...] = ()
    per_user: int | None = None
    """What each user may cost in a period; None: it is not limited."""
    spent: Mapping[str, int] = field(default_factory=dict)
    """What users have been charged, and have reserved, in this period."""
    nodes_left: int | None = None
    """How many nodes its bursts may have besides those that they have; None: it is not limited."""
    bursts_left: int | None = None
    """The same of bursts."""
    title: str = ""
    """NAMESPACE/NAME of the MiniCluster: budgets by it outlive its uid. Empty: it has no such budgets."""
    resting: tuple[str, ...] = ()
    """Why providers that it may use have no offers now, a sentence each."""
    isolated: bool = False
    """Whether each job gets an instance of its own: then there are no slots, and as many bursts as jobs."""


class PlannedBurst(NamedTuple):
    """A burst that would be made."""

    slot: str
    provider: str
    machine: str
    spot: bool
    nodes: int
    price: int
    jobs: tuple[int, ...]
    ready: float
    """Seconds until its first job would start."""
    until: float
    """Seconds from its request until it is drained, at worst."""
    seconds: float
    """The same until its nodes are gone."""
    worst: int
    """Its cost at worst: this is reserved."""
    likely: int
    """Its cost if each job takes its whole limit, and nothing else takes longer than usual."""
    portions: Mapping[str, int]
    """The cost at worst by user."""
    fee: int = 0
    """For an hour, besides its nodes."""
    isolated: bool = False
    """Whether its nodes are an instance of their own, for its one job."""


class LeftOut(NamedTuple):
    """A burstable job that does not burst."""

    job: int
    reason: str


class BurstPlan(NamedTuple):
    """What would be done now."""

    bursts: tuple[PlannedBurst, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def worst(self) -> int:
        """The cost of all bursts at worst."""
        return sum(each.worst for each in self.bursts)
