"""Backfilling without reservation: every queued job that fits starts, in order.

Source: "Backfilling" in Finnerty and others, "On the Performance of Malleable APGAS Programs and Batch Job
Schedulers", SN Computer Science 5, 2024, section on job schedulers: the rule of first come, first served,
for each job of the queue. An elastic job starts at the largest size that fits and keeps it. No bound on
starvation: small jobs can pass a large one for ever.

With an objective, jobs of one priority are tried by their estimated run times: the shortest first for short
responses, the longest first for a short makespan. Where a run time is unknown its limit counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, Start, State
from queue_policies.settings import setting
from queue_policies.walk import Walk, arrivals_only, place

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from queue_policies.records import QueuedJob, Request, Sketch

    StartRule = Callable[[Sketch, QueuedJob], Request | None]


ORDER, RESPONSE, MAKESPAN = "order", "response", "makespan"
OBJECTIVES = (ORDER, RESPONSE, MAKESPAN)


@dataclass(frozen=True, slots=True)
class Backfill:
    """Whatever fits starts."""

    name: ClassVar[str] = "backfill"
    objective: str = setting(
        ORDER,
        "whether the shortest jobs are tried first, the longest, or those first in the queue",
        choices=OBJECTIVES,
    )

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start, in order, each job that fits."""
        if self.objective == ORDER:
            return start_what_fits(state, place)
        return _start_by_run_time(state, 1 if self.objective == RESPONSE else -1)


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


def _start_by_run_time(state: State, sign: int) -> list[Action]:
    """Start each job that fits, the shortest first, or (`sign` -1) the longest."""
    sketch = state.cluster.sketch()
    actions: list[Action] = []
    misfits: set[Hashable] = set()
    for job in sorted(state.queue, key=lambda each: (-each.priority, sign * _seconds(each), each.id)):
        alike = (job.request, job.elastic)
        if job.request.size > sketch.free or alike in misfits:
            continue
        placed = place(sketch, job)
        if placed is None:
            misfits.add(alike)
        else:
            actions.append(Start(job.id, placed.size if job.elastic else None))
    return actions


def _seconds(job: QueuedJob) -> float:
    return job.limit if job.estimate is None else job.estimate.seconds(job.request.size)
