"""The events of a session for its instance, and the step that carries them with the messages to send.

An order ends with exactly one of JobResized, ResizeRefused and ResizeExpired.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

ConnectionId = Hashable
"""The instance's own identifier of a connection."""


@dataclass(frozen=True)
class ProgramRegistered:
    """The job's program accepts orders from now on."""

    job: str


@dataclass(frozen=True)
class ProgramDeregistered:
    """The program accepts no orders any more: it deregistered, or its connection was lost."""

    job: str
    reason: str


@dataclass(frozen=True)
class GrowAccepted:
    """An order to grow is accepted: start these tasks, with the order's number in their environment."""

    job: str
    order: int
    workers: Mapping[int, str]
    """Hosts by task number."""


@dataclass(frozen=True)
class WorkersJoined:
    """All workers of an order have joined; the program takes them on now."""

    job: str
    order: int


@dataclass(frozen=True)
class WorkersReleased:
    """The program released these workers: end their tasks, and report each end to the session."""

    job: str
    order: int
    workers: tuple[int, ...]


@dataclass(frozen=True)
class JobResized:
    """The order is over and the job has this size; the resources of the tasks in `lost` are free."""

    job: str
    order: int
    size: int
    """In workers."""
    gained: Mapping[int, str]
    """Hosts of the new tasks, by task number."""
    lost: tuple[int, ...]
    """The numbers of the tasks that left."""


@dataclass(frozen=True)
class ResizeRefused:
    """The order is over at the old size; nothing was started for it."""

    job: str
    order: int
    reason: str


@dataclass(frozen=True)
class ResizeExpired:
    """The order is over at the old size; `workers` were started for it and are to be ended."""

    job: str
    order: int
    reason: str
    workers: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProgressReported:
    """The program reported which fraction of the job's work is done."""

    job: str
    share: float


if TYPE_CHECKING:  # as Flux's own Python may be older than 3.10
    SessionEvent: TypeAlias = (
        ProgramRegistered
        | ProgramDeregistered
        | GrowAccepted
        | WorkersJoined
        | WorkersReleased
        | JobResized
        | ResizeRefused
        | ResizeExpired
        | ProgressReported
    )


@dataclass(frozen=True)
class Step:
    """What the instance does next: send bytes, then close connections, then process the events."""

    sends: tuple[tuple[ConnectionId, bytes], ...] = ()
    closes: tuple[ConnectionId, ...] = ()
    events: tuple[SessionEvent, ...] = ()

    def __add__(self, other: Step) -> Step:
        return Step(self.sends + other.sends, self.closes + other.closes, self.events + other.events)

    def __bool__(self) -> bool:
        return bool(self.sends or self.closes or self.events)


NOTHING = Step()
