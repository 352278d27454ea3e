"""Backfilling without reservation: every queued job that fits starts, in order.

Source: "Backfilling" in Finnerty and others, "On the Performance of Malleable APGAS Programs and Batch Job
Schedulers", SN Computer Science 5, 2024, section on job schedulers: the rule of first come, first served,
for each job of the queue. An elastic job starts at the largest size that fits and keeps it. No bound on
starvation: small jobs can pass a large one for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, Start, State
from queue_policies.walk import Walk, arrivals_only, place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.records import QueuedJob, Request, Sketch

    StartRule = Callable[[Sketch, QueuedJob], Request | None]


@dataclass(frozen=True, slots=True)
class Backfill:
    """Whatever fits starts."""

    name: ClassVar[str] = "backfill"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start, in order, each job that fits."""
        return start_what_fits(state, place)


def start_what_fits(state: State, rule: StartRule) -> list[Action]:
    """Start, in order, each job that `rule` can place. It must treat jobs of one class alike."""
    sketch = state.cluster.sketch()
    arrived = arrivals_only(state, timeless=True)
    actions: list[Action] = []
    if arrived is not None:
        for job in arrived:
            got = rule(sketch, job) if job.request.size <= sketch.free else None
            if got is not None:
                actions.append(Start(job.id, got.size if job.elastic else None))
        return actions
    walk = Walk(state.queue.classes(sketch.free))
    while walk and sketch.free:
        job = walk.job
        got = rule(sketch, job) if job.request.size <= sketch.free else None
        if got is None:
            walk.drop()
        else:
            actions.append(Start(job.id, got.size if job.elastic else None))
            walk.on()
    return actions
