"""What policies share that shrink and grow running jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from queue_policies.walk import malleable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from queue_policies.draft import Draft
    from queue_policies.records import QueuedJob, RunningJob, State


class Movable:
    """The running jobs that accept orders, and the orders to them."""

    def __init__(self, state: State, draft: Draft, now: float, gap: float) -> None:
        self._draft = draft
        self._gap = gap
        accepting = [job for job in state.running.by_order() if malleable(job)]
        self.open = [job for job in accepting if now >= job.acted + gap]
        """The jobs that can be resized now."""
        self.blocked = [job for job in accepting if now < job.acted + gap]
        """The jobs that can be resized after their gap."""
        self.saving = False
        """Whether free units are kept for a job that they do not suit, though they are enough."""

    def surplus(self, job: RunningJob) -> int:
        """Return how many units the job can give up."""
        return self._draft.size(job) - job.elastic.min if job.elastic else 0

    def room(self, job: RunningJob) -> int:
        """Return how many more units the job can hold."""
        return job.elastic.max - self._draft.size(job) if job.elastic else 0

    def gather(self, donors: Iterable[RunningJob], need: int) -> bool:
        """Shrink the donors, in this order, until they give up `need` units; False: they cannot."""
        givers = [(job, self.surplus(job)) for job in donors]
        if sum(surplus for _, surplus in givers) < need:
            return False
        for job, surplus in givers:
            given = min(need, surplus)
            if given > 0:
                self._draft.shrink(job, self._draft.size(job) - given)
                need -= given
        return True

    def admit(self, job: QueuedJob, donors: Iterable[RunningJob]) -> bool:
        """Start the job at its least size, on free units or after the donors, in this order, have shrunk.

        Return whether it starts.
        """
        size = job.request.size
        missing = size - self._draft.free
        if missing > 0:
            return self.gather(donors, missing) and self._draft.start(job, size)
        if self._draft.start(job, size):
            return True
        self.gather(donors, self.unsuited(job))
        return False

    def unsuited(self, job: QueuedJob) -> int:
        """Return how many more units others have to give up for a job that free units do not suit.

        For example, cores of one node, though enough, do not suit a job that requests two nodes. Return 0 if
        no shrinking would help. Until the job has started no other grows: that would take its units again.
        """
        if not self._draft.would_fit(job, [each.id for each in (*self.open, *self.blocked)]):
            return 0
        self.saving = True
        return job.request.size

    def spread(
        self,
        receivers: Iterable[RunningJob],
        largest: Callable[[RunningJob], int] | None = None,
        most: float = math.inf,
    ) -> None:
        """Grow the receivers, in this order, with free units.

        Each grows to its largest size, or as far as possible. All together take at most `most` units.
        """
        if self.saving:
            return
        for job in receivers:
            room = self.room(job) if largest is None else largest(job) - job.size
            given = int(min(room, self._draft.idle, most))
            if given > 0 and not self._draft.resized(job.id):
                self._draft.grow(job, job.size + given)
                most -= given

    def wake(self, waiting: bool) -> None:
        """Decide again after the gap of a job that can then give units to waiting jobs, or take free ones."""
        idle = self._draft.idle > 0
        self.wake_for(
            job
            for job in self.blocked
            if (waiting and self.surplus(job) > 0) or (idle and self.room(job) > 0)
        )

    def wake_for(self, jobs: Iterable[RunningJob]) -> None:
        """Decide again when the gap of one of these jobs is over."""
        for job in jobs:
            self._draft.wake(job.acted + self._gap)
