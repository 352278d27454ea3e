"""Jobs of a rehearsal: what each asks for, how long it really runs, and what has become of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from broker_config.formats.burst_names import DEFAULT_QUEUE

if TYPE_CHECKING:
    from broker_config.formats.jobspec import RequestedResources


class JobPhase(Enum):
    """Where a job is in its life."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    LOST = "lost"
    """Its nodes went while it ran: it begins anew once its burst is concluded."""
    REFUSED = "refused"
    """It can run neither here nor in a slot."""


@dataclass(slots=True)
class RehearsedJob:
    """A job; times are in seconds since 1970."""

    id: int
    request: RequestedResources
    seconds: float
    """How long it runs, if nothing ends it before."""
    limit: float = 0.0
    """Its time limit, 0 without one."""
    user: str = "alice"
    wish: Any = None
    """What it says of bursts: true, the name of a provider, or None."""
    priority: int = 16
    submitted: float = 0.0
    phase: JobPhase = JobPhase.PENDING
    queue: str = DEFAULT_QUEUE
    """Where it waits, or has waited last."""
    where: str = ""
    """The queue on whose nodes it runs, or has run last."""
    started: float | None = None
    """When it started last."""
    ends: float | None = None
    """When it ends, while it runs; when it has ended."""
    runs: int = 0
    """How often it has run to its end."""

    @property
    def span(self) -> float:
        """How long it runs, if its nodes stay: its time limit ends it."""
        return min(self.seconds, self.limit) if self.limit else self.seconds

    @property
    def is_pending(self) -> bool:
        """Whether it waits."""
        return self.phase is JobPhase.PENDING

    @property
    def is_running(self) -> bool:
        """Whether it runs."""
        return self.phase is JobPhase.RUNNING
