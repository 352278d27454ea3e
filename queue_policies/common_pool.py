"""Common pool: waiting jobs draw on free units and on what running jobs can spare; no resize is in vain.

Source: our own, from the comparison with `malleable`. It differs in these ways:

* It is true EASY, with the extra units, and malleable jobs start at the largest size that fits.
* Not only the head but the jobs behind it, in order, take from several donors as long as each can start.
* The smallest jobs grow first, as far as they run efficiently.
* A job is not resized if its remaining time is short beside the cost of that.

Bound on starvation: that of `easy`, since no job grows into the units for which the head of the queue waits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.draft import Draft
from queue_policies.easy import easy_pass
from queue_policies.gain import left
from queue_policies.resizing import Movable
from queue_policies.settings import gap, setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from queue_policies.records import Action, QueuedJob, RunningJob, State


@dataclass(frozen=True, slots=True)
class CommonPool:
    """True EASY, then starts and growth from one pool of free and spare units."""

    name: ClassVar[str] = "common-pool"
    gap: float = gap(60.0)
    payoff: float = setting(
        5.0, "a job is resized that would run this many times the overhead longer", least=0
    )
    overhead: float = setting(10.0, "seconds that a resize is taken to cost", least=0)
    efficiency: float = setting(
        0.5, "least speed-up for each unit, of that at the least size, to grow to", least=0
    )
    least: bool = setting(False, "whether malleable jobs start at their least sizes, not the largest")

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start; take for those that wait; grow."""
        draft = Draft(state)
        schedule = easy_pass(state, now, extra=True, least=self.least)
        for job, got in schedule.starts:
            draft.start(job, got.size)
        movable = Movable(state, draft, now, self.gap)
        worth = [job for job in movable.open if self._pays(job, now)]
        head = schedule.head
        if head is not None:
            self._draw(state, draft, movable, worth, head)
        if head is not None and not draft.starts(head.id) and schedule.shadow < math.inf:
            # Units for which the head waits go to no job that would keep them beyond the head's start.
            late = [job for job in worth if job.end >= schedule.shadow]
            movable.spread(_by_size(late), self._largest, schedule.extra)
            worth = [job for job in worth if job.end < schedule.shadow]
        movable.spread(_by_size(worth), self._largest)
        movable.wake(waiting=len(state.queue) > draft.started)
        return draft.answer(now)

    def _draw(
        self, state: State, draft: Draft, movable: Movable, worth: Sequence[RunningJob], head: QueuedJob
    ) -> None:
        """Start waiting jobs, in order from the head, until one cannot get enough units."""
        for job in state.queue:
            if job.order < head.order or draft.starts(job.id):
                continue
            donors = sorted(worth, key=lambda donor: -movable.surplus(donor))
            if not movable.admit(job, donors):
                return

    def _pays(self, job: RunningJob, now: float) -> bool:
        """Return whether the job still runs long enough for a resize."""
        if job.estimate is None:
            return True
        seconds = left(job, job.estimate, now) * job.estimate.seconds(job.size)
        return seconds >= self.payoff * self.overhead

    def _largest(self, job: RunningJob) -> int:
        """Return the largest size at which the job is efficient enough; its own if it gains too little."""
        elastic, estimate = job.elastic, job.estimate
        if elastic is None or estimate is None:
            return job.size if elastic is None else elastic.max
        work = estimate.seconds(elastic.min) * elastic.min
        size = elastic.max
        while size > job.size and work < self.efficiency * size * estimate.seconds(size):
            size -= 1
        saved = estimate.seconds(job.size) - estimate.seconds(size)
        return size if saved > self.overhead else job.size


def _by_size(jobs: Iterable[RunningJob]) -> list[RunningJob]:
    return sorted(jobs, key=lambda job: job.size)
