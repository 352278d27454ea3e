"""One job's run in a simulation, and the order that it is amid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.outcome import End, JobOutcome

if TYPE_CHECKING:
    from queue_policies.simulator.job import WorkloadJob


@dataclass(slots=True)
class PendingResize:
    """A resize under way, as it will come to pass."""

    size: int
    pause: float
    refused: bool


@dataclass(slots=True)
class JobRun:
    """One job's run. From `since` on it computes at `size`, where the whole job takes `per` seconds.

    `deadline` is when its time limit ends it. Where it begins again, that takes `resume` seconds.
    """

    job: WorkloadJob
    started: float
    deadline: float = 0.0
    resume: float = 0.0
    size: int = 0
    left: float = 1.0
    since: float = 0.0
    per: float = 0.0
    version: int = 0
    order: PendingResize | None = None
    ended: float | None = None
    end: End = "completed"
    sizes: list[tuple[float, int]] = field(default_factory=list)
    grows: int = 0
    shrinks: int = 0
    refusals: int = 0
    restarts: int = 0
    preemptions: int = 0
    idle: float = 0.0

    def ahead(self, now: float) -> float:
        """Seconds of a pause that are still to come."""
        return max(0.0, self.since - now)

    def left_at(self, now: float) -> float:
        """The share of the work that is left."""
        return max(0.0, self.left - max(0.0, now - self.since) / self.per) if self.per else 0.0

    def outcome(self, ended: float) -> JobOutcome:
        """What became of it."""
        job = self.job
        return JobOutcome(
            job.id,
            job.kind,
            job.user,
            job.priority,
            job.submitted,
            self.started,
            ended,
            self.end,
            tuple(self.sizes),
            self.grows,
            self.shrinks,
            self.refusals,
            self.restarts,
            self.idle,
            self.preemptions,
        )
