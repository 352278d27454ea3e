"""One job's run in a simulation, and its order under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.outcome import End, JobOutcome, QuotaChange

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.job import WorkloadJob


@dataclass(slots=True)
class PendingResize:
    """A resize under way, with its outcome."""

    size: int
    pause: float
    refused: bool


@dataclass(slots=True)
class JobRun:
    """One job's run."""

    job: WorkloadJob
    started: float
    deadline: float = 0.0
    """When its time limit ends it."""
    resume: float = 0.0
    """Seconds without progress when it begins again."""
    size: int = 0
    """The size at which it computes, from `since` on."""
    left: float = 1.0
    """The share of the work that was left at `since`."""
    since: float = 0.0
    per: float = 0.0
    """Seconds that the whole job takes at this size, beside those that compute there now."""
    due: float = 0.0
    """When it ends, as things are. An event of an end before that is void: the job became slower."""
    version: int = 0
    order: PendingResize | None = None
    ended: float | None = None
    end: End = "completed"
    sizes: list[tuple[float, int]] = field(default_factory=list)
    allocations: list[tuple[float, Allocation]] = field(default_factory=list)
    """Its cores from each time on, on nodes."""
    grows: int = 0
    shrinks: int = 0
    refusals: int = 0
    restarts: int = 0
    preemptions: int = 0
    idle: float = 0.0
    host: int | None = None
    """The job on whose cores it computes."""
    quota: float = 1.0
    """The fraction of the time of the cores that it computes on which it may use."""
    quotas: list[QuotaChange] = field(default_factory=list)
    """How that changed."""

    @property
    def limited(self) -> bool:
        """Whether others, or a quota, may slow it down: its progress does not tell how fast it is alone."""
        return self.host is not None or self.quota < 1

    def ahead(self, now: float) -> float:
        """Return the seconds of a pause that are still to come."""
        return max(0.0, self.since - now)

    def left_at(self, now: float) -> float:
        """Return the share of the work that is left."""
        return max(0.0, self.left - max(0.0, now - self.since) / self.per) if self.per else 0.0

    def outcome(self, ended: float) -> JobOutcome:
        """Return the job's outcome."""
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
