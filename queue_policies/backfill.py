"""Backfilling without reservation: every queued job that fits starts, in order.

Source: "Backfilling" in Finnerty and others, "On the Performance of Malleable APGAS Programs and Batch Job
Schedulers", SN Computer Science 5, 2024, section on job schedulers: the rule of first come, first served,
for each job of the queue. An elastic job starts at the largest size that fits and keeps it. No bound on
starvation: small jobs can pass a large one for ever.

With an objective, jobs of one priority are tried by their estimated run times. For a short makespan the
longest goes first. For short responses the one with the highest response ratio does, (wait + run time) / run
time, and of equal ratios the shortest: a short job passes a long one, but not for ever. Before all others
goes what would keep the cluster waiting at the end: a job that takes `LAST` times as long, or longer, as all
units together need for all that waits and runs. Where a run time is unknown its limit counts.

Source of the ratio: Brinch Hansen, "An Analysis of Response Ratio Scheduling", IFIP Congress, 1971. The rule
for the last jobs is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, Start, State
from queue_policies.settings import setting
from queue_policies.walk import Walk, arrivals_only, place

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from queue_policies.records import QueuedJob, Request, RunningJob, Sketch

    StartRule = Callable[[Sketch, QueuedJob], Request | None]
    Rank = Callable[[QueuedJob], tuple[float, ...]]


ORDER, RESPONSE, MAKESPAN = "order", "response", "makespan"
OBJECTIVES = (ORDER, RESPONSE, MAKESPAN)
LAST = 2.0
"""By so much a run time exceeds what is left for all units, where its job goes first whatever the ratios."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """Whatever fits starts."""

    name: ClassVar[str] = "backfill"
    objective: str = setting(
        ORDER,
        "what is tried first: by the order of the queue, by response ratios, or the longest",
        choices=OBJECTIVES,
    )

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start, in order, each job that fits. Without an objective time plays no part."""
        if self.objective == ORDER:
            return start_what_fits(state, place)
        return _start_ranked(state, _by_response(state, now) if self.objective == RESPONSE else _longest)


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


def _start_ranked(state: State, rank: Rank) -> list[Action]:
    """Start each job that fits, by priority and rank."""
    sketch = state.cluster.sketch()
    actions: list[Action] = []
    misfits: set[Hashable] = set()
    for job in sorted(state.queue, key=lambda each: (-each.priority, rank(each), each.id)):
        alike = (job.request, job.elastic)
        if job.request.size > sketch.free or alike in misfits:
            continue
        placed = place(sketch, job)
        if placed is None:
            misfits.add(alike)
        else:
            actions.append(Start(job.id, placed.size if job.elastic else None))
    return actions


def _longest(job: QueuedJob) -> tuple[float, ...]:
    return (-_seconds(job),)


def _by_response(state: State, now: float) -> Rank:
    """Return the order for short responses: jobs that would end last, then by their response ratios."""
    late = LAST * _rest(state, now)

    def rank(job: QueuedJob) -> tuple[float, ...]:
        seconds = _seconds(job)
        if late <= seconds < math.inf:
            return 0.0, -seconds
        waited = max(0.0, now - job.submitted)
        return 1.0, -(waited / seconds if seconds > 0 else math.inf), seconds

    return rank


def _rest(state: State, now: float) -> float:
    """Return the seconds that all units together need for all that waits and runs, as far as it is known."""
    waiting = ((_seconds(job), job.request.size) for job in state.queue)
    running = ((_seconds_left(job, now), job.size) for job in state.running.by_order())
    known = math.fsum(
        seconds * size for each in (waiting, running) for seconds, size in each if seconds < math.inf
    )
    return known / max(1, state.cluster.total)


def _seconds_left(job: RunningJob, now: float) -> float:
    """Return what is left of a running job, by its estimate, else by its limit."""
    left = job.left(now)
    if left is None or job.estimate is None:
        return max(0.0, job.end - now)
    return left * job.estimate.seconds(job.size)


def _seconds(job: QueuedJob) -> float:
    return job.limit if job.estimate is None else job.estimate.seconds(job.request.size)
