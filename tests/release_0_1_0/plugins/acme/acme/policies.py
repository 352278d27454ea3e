"""Two queue policies: one shares what there is, the other promises starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.draft import Draft
from queue_policies.easy import easy_pass
from queue_policies.gain import left, run_time, steps
from queue_policies.plugins import hookimpl
from queue_policies.records import Action, Change, Grow, Happened, Reserve, Start, WakeAt
from queue_policies.resizing import Movable
from queue_policies.settings import gap, setting
from queue_policies.walk import (
    Walk,
    arrivals_only,
    largest,
    malleable,
    place,
    place_in_order,
    sized,
    sizes,
    start_actions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.policy import Policy
    from queue_policies.records import QueuedJob, RunningJob, State


@dataclass(frozen=True, slots=True)
class Share:
    """All start at their least sizes, by the longest-running jobs' surplus; then the smallest grow."""

    name: ClassVar[str] = "acme-share"
    gap: float = gap(30.0)
    serial: float = setting(0.05, "share that does not run in parallel, of a job without estimate", least=0)
    donors: str = setting("slow", "who gives first", choices=("slow", "large"))

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Admit in order, then spread."""
        draft = Draft(state)
        movable = Movable(state, draft, now, self.gap)
        donors = sorted(movable.open, key=self._slow(now) if self.donors == "slow" else _size, reverse=True)
        spare = sum(movable.surplus(job) for job in donors)
        walk = Walk(state.queue.classes(draft.free + spare))
        while walk:
            job = walk.job
            if movable.admit(job, donors):
                walk.on()
            else:
                walk.drop()
        self._enlarge(state, draft)
        movable.spread(sorted(movable.open, key=_size))
        movable.wake(waiting=len(state.queue) > draft.started)
        return draft.answer(now)

    def _slow(self, now: float):
        def seconds(job: RunningJob) -> float:
            time = run_time(job, job.end - job.started, self.serial)
            return left(job, time, now) * time.seconds(job.size)

        return seconds

    def _enlarge(self, state: State, draft: Draft) -> None:
        for job in state.queue:
            if draft.starts(job.id) and job.elastic is not None:
                least, most = sizes(job)
                for step in reversed(list(steps(max(0, min(most - least, draft.idle))))):
                    if draft.enlarge(job, least + step):
                        break


@dataclass(frozen=True, slots=True)
class Promise:
    """EASY's pass, a start time for the head, and one look a minute; what grows grows by one unit."""

    name: ClassVar[str] = "acme-promise"
    every: float = setting(60.0, "seconds between two looks", least=1)

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start, promise, grow."""
        if arrivals_only(state) is None and not _is_news(state.changes) and not len(state.queue):
            return []
        schedule = easy_pass(state, now, extra=True)
        actions: list[Action] = start_actions(schedule.starts)
        if schedule.head is None:
            sketch = state.cluster.sketch()
            for job, got in schedule.starts:
                sketch.take(job.id, got)
            actions += [
                Grow(job.id, job.size + 1)
                for job in state.running.by_order()
                if malleable(job) and job.size < job.elastic.max and sketch.free > 0 and _grown(sketch, job)
            ]
        elif math.isfinite(schedule.shadow):
            actions.append(Reserve(schedule.head.id, schedule.shadow))
        return [*actions, WakeAt(now + self.every)]


@dataclass(frozen=True, slots=True)
class Order:
    """Strict order, by hand."""

    name: ClassVar[str] = "acme-order"
    least: bool = False

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start from the head."""
        sketch = state.cluster.sketch()
        placed, head = place_in_order(state.queue, sketch, self.least)
        if head is not None and head.elastic is not None and not placed:
            got = place(sketch, head, largest(head, self.least))
            assert got is None or got == sized(head, got.size)
        return [Start(job.id, got.size if job.elastic else None) for job, got in placed]


def _grown(sketch, job: RunningJob) -> bool:
    """Whether one unit more suits the job: it gives back what it has, and takes that and one."""
    after = sketch.copy()
    after.give(job.id)
    if not after.take(job.id, job.request.sized(job.size + 1)):
        return False
    sketch.give(job.id)
    sketch.mirror(after, job.id)
    return True


def _is_news(changes: Sequence[Change]) -> bool:
    return any(what in {Happened.ENDED, Happened.RESIZED, Happened.CLUSTER} for what, _job in changes)


def _size(job: RunningJob | QueuedJob) -> int:
    return job.request.size


@hookimpl
def minicluster_policies() -> list[type[Policy]]:
    """Offer them."""
    return [Share, Promise, Order]
