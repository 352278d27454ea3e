"""Every job at its least size, by priority.

Source: "An elastic job scheduler for HPC applications on the cloud" (Charm++ on Kubernetes), section on
evaluation, the variant "min" (rigid jobs with their minimum of replicas). No bound on starvation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.backfill import start_what_fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, QueuedJob, Request, Sketch, State


@dataclass(frozen=True, slots=True)
class RigidMin:
    """Each job that fits starts, in order, at its least size."""

    name: ClassVar[str] = "rigid-min"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start, in order, each job that fits."""
        return start_what_fits(state, _least)


def _least(sketch: Sketch, job: QueuedJob) -> Request | None:
    return job.request if sketch.take(job.id, job.request) else None
