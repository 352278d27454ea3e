"""A burst, its resources and its jobs, as the ledger has them; and what is observed of them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.lifecycle.isolation import RemoteView, StandInView

PREFIX = "mcb-"
"""How the names of all resources begin."""
BEGUN_ANEW, LOST = "begun anew", "lost"
"""How the outcomes begin of jobs whose nodes were lost: the second where a job may run once only."""
_NAMED = 10
"""Characters of a burst's id in the names of its resources."""


def label_of(burst: str) -> str:
    """Return how the burst with this id is called."""
    return burst[-_NAMED:]


@dataclass(frozen=True, slots=True)
class BurstRecord:
    """A burst as the ledger has it; times are in seconds since 1970, money in micro-units."""

    id: str
    """A ULID in lower case."""
    cluster: str
    """The MiniCluster's uid."""
    slot: str
    provider: str
    location: str
    """Where the provider makes it: account and region, cluster and namespace."""
    machine: str
    nodes: int
    created: float
    until: float
    """When it is drained at the latest."""
    spot: bool = False
    price: int = 0
    """For a node and hour."""
    fee: int = 0
    """For an hour, besides its nodes."""
    cluster_name: str = ""
    """By which people know the MiniCluster."""
    instance: str = ""
    """The id of the Flux instance whose jobs it is for: another one does not know them."""
    state: BurstState = BurstState.REQUESTED
    state_since: float = 0.0
    outcome: BurstOutcome | None = None
    reason: str = ""
    attempts: int = 0
    """How often in a row a call could not be served."""
    next_try: float = 0.0
    idle_since: float | None = None
    empty_since: float | None = None
    """When a listing of the provider had nothing of it for the first time."""
    stopping: bool = False
    """Whether somebody asked to stop it."""
    amounts: Mapping[str, int] = field(default_factory=dict)
    """What it may cost at worst, by scope of a budget."""
    isolated: bool = False
    """Whether its nodes are an instance of their own, for its one job."""
    remote: str = ""
    """The id of that instance, once it was there: in another one its job is never submitted."""

    @property
    def row(self) -> dict[str, Any]:
        """Return what users see of it, every value in plain units."""
        return {
            "burst": self.label,
            "id": self.id,
            "cluster": self.cluster_name or self.cluster,
            "slot": self.slot,
            "provider": self.provider,
            "machine": self.machine,
            "spot": self.spot,
            "nodes": self.nodes,
            "state": self.state.value,
            "outcome": self.outcome.value if self.outcome is not None else None,
            "reason": self.reason,
            "created": self.created,
        }

    @property
    def label(self) -> str:
        """The end of its id, by which its resources are named and labelled."""
        return label_of(self.id)


class ResourceKey(NamedTuple):
    """What a provider makes for a burst, before it is made: kind and name identify it."""

    kind: str
    name: str
    nodes: int = 0
    """How many nodes cost money while it is there."""


@dataclass(frozen=True, slots=True)
class ResourceRecord:
    """A resource as the ledger has it: its intent is written before the first call about it."""

    burst: str
    number: int
    key: ResourceKey
    intent_at: float | None = None
    made_at: float | None = None
    """When it was first observed, or its creation answered."""
    gone_at: float | None = None

    @property
    def token(self) -> str:
        """What identifies its creation to a provider that is asked twice."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.burst}/{self.key.kind}/{self.number}"))


@dataclass(frozen=True, slots=True)
class AssignedJob:
    """A job for which a burst was made."""

    burst: str
    job: int
    user: str
    origin: str
    """The queue in which it waited."""
    moved_at: float | None = None
    returned_at: float | None = None
    outcome: str = ""
    """Why it is not in the burst's queue; empty while it may be."""


class ResourcePhase(Enum):
    """What a provider reports of a resource."""

    ABSENT = "absent"
    COMING = "coming"
    READY = "ready"
    BROKEN = "broken"
    """It is there, costs money, and will never be ready."""
    GOING = "going"


class ResourceReport(NamedTuple):
    """A resource as its provider reports it."""

    key: ResourceKey
    phase: ResourcePhase
    reason: str = ""
    burst: str = ""
    """The label of the burst that it has."""
    installation: str = ""
    """The id of the installation that made it."""
    since: float = 0.0
    """When it was made, 0 if the provider does not report it."""
    nodes: int | None = None
    """How many of its nodes are there and cost money. None: all, as soon as it is there."""
    until: float = 0.0
    """When it is to end at the latest, as a listing has it by its label; 0: that is not known."""


class ProbeResult(NamedTuple):
    """What came of the job that tries a rank."""

    done: bool
    error: str = ""
    """Why jobs do not run there."""


@dataclass(frozen=True, slots=True)
class SlotView:
    """What a lead reports of a slot that a burst has."""

    instance: str
    """The id of the instance."""
    online: frozenset[int] = frozenset()
    """Ranks of the slot that have joined; the first one is 0."""
    unresponsive: Mapping[int, float] = field(default_factory=dict)
    """Since when each rank of it has not answered."""
    drained: frozenset[int] = frozenset()
    started: bool = False
    """Whether its queue is started."""
    pending: frozenset[int] = frozenset()
    """Jobs that wait in its queue."""
    running: frozenset[int] = frozenset()
    """Jobs that run on its ranks."""
    probes: Mapping[int, ProbeResult] = field(default_factory=dict)
    """By rank."""


@dataclass(frozen=True, slots=True)
class BurstObservation:
    """What is known of a burst now; what was not asked is not there."""

    resources: Mapping[str, ResourceReport] = field(default_factory=dict)
    """By name."""
    slot: SlotView | None = None
    """None: the lead does not answer."""
    listed: tuple[ResourceReport, ...] = ()
    """What the provider lists of the burst."""
    is_orphan: bool = False
    """Whether the MiniCluster is gone, and its lead will not answer again."""
    is_listed: bool = False
    """Whether the provider was asked what it lists."""
    stood: StandInView | None = None
    """Of an isolated burst, in place of a slot. None: the lead does not answer."""
    remote: RemoteView | None = None
    """Its instance elsewhere. None: it does not answer."""
    silent_since: float | None = None
    """Since when that does not answer, as far as this process has asked."""
