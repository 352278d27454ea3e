"""What the schedulers of paper B's authors do where they differ from the papers: for comparison only.

`Coded` is the Malleable policy as its code has it: what the head of the queue needs is not lowered while
donors are walked, so that every candidate shrinks by as much as the head needs; the head starts at its min;
the cool-down counts from the last resize, not from the start; and growth goes to who has most room.
`SkippingBackfill` is the rigid backfilling of the second workload: it takes jobs out of the list that it
walks, and so passes over the job behind each one that it starts. `CodedAgreement` is min-agreement as coded
there: only the head of the queue starts on free nodes, as a test that compares a time with a duration lets no
other job overtake it; all others start when what running jobs have above their least sizes is enough for all
that they need, free nodes not counted; and free nodes go to running malleable jobs at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.records import Action, Grow, QueuedJob, RunningJob, Shrink, Start, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COOLDOWN = 60.0


def _most(job: QueuedJob | RunningJob) -> int:
    return job.elastic.max if job.elastic else job.request.size


def _least(job: QueuedJob | RunningJob) -> int:
    return job.elastic.min if job.elastic else job.request.size


@dataclass(frozen=True, slots=True)
class Coded:
    """Malleable as coded. Its EASY pass never backfills there, since all jobs declare the same time."""

    name: ClassVar[str] = "malleable-as-coded"
    cooldown: float = COOLDOWN

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start in order; shrink for the head; grow with what is left."""
        actions: list[Action] = []
        free = state.cluster.sketch().free
        head: QueuedJob | None = None
        for job in state.queue:
            if _least(job) > free:
                head = job
                break
            size = min(_most(job), free)
            actions.append(Start(job.id, size if job.elastic else None))
            free -= size
        candidates = [job for job in state.running.by_order() if self._takes_orders(job, now)]
        if head is not None:
            shrinks = list(_shrinks(candidates, head, free))
            if shrinks:
                return [*actions, *shrinks, Start(head.id, None, tuple(_donors(state, shrinks, head, free)))]
        for each in sorted(candidates, key=lambda job: job.size - _most(job)):
            if free and each.size < _most(each):
                size = min(_most(each), each.size + free)
                free -= size - each.size
                actions.append(Grow(each.id, size))
        return actions

    def _takes_orders(self, job: RunningJob, now: float) -> bool:
        malleable = job.elastic is not None and job.elastic.malleable
        cool = job.acted <= job.started or now >= job.acted + self.cooldown
        return malleable and job.heeds and cool


def _donors(state: State, shrinks: Sequence[Shrink], head: QueuedJob, free: int) -> Iterator[int]:
    """As many as the head needs; what the others give up is free."""
    for each in shrinks:
        if free >= _least(head):
            return
        free += state.running[each.job].size - each.size
        yield each.job


def _shrinks(candidates: Sequence[RunningJob], head: QueuedJob, free: int) -> Iterator[Shrink]:
    need = _least(head) - free
    if sum(job.size - _least(job) for job in candidates) < need:
        return
    for job in sorted(candidates, key=lambda job: _least(job) - job.size):
        units = min(need, job.size - _least(job))
        if units > 0:
            yield Shrink(job.id, job.size - units)


@dataclass(frozen=True, slots=True)
class SkippingBackfill:
    """Rigid backfilling as the artefact has it."""

    name: ClassVar[str] = "backfill-as-coded"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start what fits, but pass over the job behind each that starts."""
        free = state.cluster.sketch().free
        actions: list[Action] = []
        passes = False
        for job in state.queue:
            if not free:
                break
            if passes:
                passes = False
            elif job.request.size <= free:
                free -= job.request.size
                actions.append(Start(job.id))
                passes = True
        return actions


@dataclass(frozen=True, slots=True)
class CodedAgreement:
    """Min-agreement as coded: rigid jobs wait until free nodes, or others' surplus, alone are enough."""

    name: ClassVar[str] = "min-agreement-as-coded"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start the head, then agree with those who have surplus, then grow."""
        free = state.cluster.sketch().free
        waiting = list(state.queue)
        actions: list[Action] = []
        if waiting and _least(waiting[0]) <= free:
            head = waiting.pop(0)
            actions.append(Start(head.id))
            free -= _least(head)
        running = [job for job in state.running.by_order() if job.elastic and job.heeds]
        surplus = {job.id: job.size - _least(job) for job in running}
        given: dict[int, int] = {}
        for queued in waiting:
            if sum(surplus.values()) >= _least(queued):
                donors = _agreed(running, surplus, given, _least(queued))
                actions.append(Start(queued.id, None, donors))
        shrinks = [Shrink(job.id, job.size - given[job.id]) for job in running if job.id in given]
        for job in sorted(running, key=lambda each: each.size - _least(each)):
            more = min(_most(job) - job.size, free)
            if more > 0 and job.id not in given:
                actions.append(Grow(job.id, job.size + more))
                free -= more
        return [*shrinks, *actions]


def _agreed(
    running: Sequence[RunningJob], surplus: dict[int, int], given: dict[int, int], need: int
) -> tuple[int, ...]:
    """Take what a job needs from those with the most above their least; return from whom."""
    donors = []
    for job in sorted(running, key=lambda each: _least(each) - each.size):
        taken = min(need, surplus[job.id])
        if taken:
            surplus[job.id] -= taken
            given[job.id] = given.get(job.id, 0) + taken
            need -= taken
            donors.append(job.id)
    return tuple(donors)
