"""Every job at its largest size, by priority.

Source: "An elastic job scheduler for HPC applications on the cloud" (Charm++ on Kubernetes), section on
evaluation, the variant "max" (rigid jobs with their maximum of replicas). A job whose largest size is more
than the cluster has runs on all of it. No bound on starvation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.backfill import start_what_fits
from queue_policies.walk import sized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, QueuedJob, Request, Sketch, State


@dataclass(frozen=True, slots=True)
class RigidMax:
    """Each job that fits starts, in order, at its largest size."""

    name: ClassVar[str] = "rigid-max"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start, in order, each job that fits."""
        total = state.cluster.total

        def largest(sketch: Sketch, job: QueuedJob) -> Request | None:
            request = sized(job, min(job.elastic.max, total)) if job.elastic else job.request
            return request if sketch.take(job.id, request) else None

        return start_what_fits(state, largest)
