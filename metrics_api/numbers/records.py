"""Records: a snapshot of an instance, and the samples made from it.

Frozen dataclasses without slots: Flux's own Python may be older than 3.10.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_config.formats.constraints import Constraint


class Hold:
    """Why a pending job could not run even if all nodes were free."""

    NONE = ""
    DEPENDENCY = "dependency"  # not satisfied yet, or no priority yet
    HELD = "held"  # urgency 0, or its queue is stopped
    NEVER = "never"  # it does not fit even on all nodes; found when samples are made


class NodeState(NamedTuple):
    """One rank that the instance is configured for."""

    rank: int
    host: str
    cores: int
    gpus: int = 0
    properties: frozenset[str] = frozenset()
    up: bool = True
    drained: bool = False
    """By any drain."""
    leaving: bool = False
    """By the operator, for a shrink; it takes this drain back when more nodes are demanded."""


class SlotRequest(NamedTuple):
    """A job's request."""

    nodes: int
    """0: any number."""
    slots: int
    """On each node if `nodes` is not 0, else in all."""
    cores: int
    """Of each slot."""
    gpus: int = 0
    """Of each slot."""
    exclusive: bool = False
    constraint: Constraint | None = None
    least: int = 0
    """The least size of an elastic job: in nodes if it requests nodes, else in slots. 0: it is rigid."""
    most: int = 0
    """The greatest size, likewise."""

    @property
    def all_cores(self) -> int:
        """The least number of cores that it takes."""
        return max(self.nodes, 1) * self.slots * self.cores

    def sized(self, size: int) -> SlotRequest:
        """Return the same request for another size."""
        return self._replace(nodes=size) if self.nodes else self._replace(slots=size)


@dataclass(frozen=True)
class PendingGroup:
    """Pending jobs that are alike."""

    request: SlotRequest
    queue: str
    group: str
    count: int
    hold: str = Hold.NONE
    since: float = 0.0
    """Since when the first of them could run; 0: none can."""
    core_seconds: float = 0.0


@dataclass(frozen=True)
class AllocatedJob:
    """A job that has resources."""

    queue: str
    group: str
    allocation: tuple[tuple[int, int, int], ...]
    """(rank, cores, gpus) for each rank."""
    least: int = 0
    """The least size of an elastic job in nodes. 0: it is rigid."""
    most: int = 0
    """The greatest size, likewise."""

    @property
    def size(self) -> int:
        """The number of its nodes."""
        return len({rank for rank, _, _ in self.allocation})


@dataclass(frozen=True)
class Counts:
    """Jobs by state, of the instance and of each named queue."""

    states: Mapping[str, int] = field(default_factory=dict)
    queues: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """An instance at one time."""

    nodes: tuple[NodeState, ...]
    """All that it is configured for, in the order of their ranks."""
    minimum: int
    maximum: int
    pending: tuple[PendingGroup, ...] = ()
    running: tuple[AllocatedJob, ...] = ()
    counts: Counts = Counts()


@dataclass(frozen=True)
class Sample:
    """One value of a metric."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)

    def encode(self) -> dict[str, Any]:
        """Return its JSON object."""
        return {"name": self.name, "labels": self.labels, "value": self.value}
