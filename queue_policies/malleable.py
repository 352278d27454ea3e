"""EASY backfill that shrinks running jobs for the head of the queue, and lets them grow into what is free.

Source: Finnerty, Posner, Bürger, Takaoka, Kanzaki, "On the Performance of Malleable APGAS Programs and
Batch Job Schedulers", SN Computer Science 5, 2024, section on the malleable scheduler, by its text.
Malleable jobs start with their least sizes. A blocked head takes units from the running jobs with the most.
What is still free goes to those with the fewest. A job that acknowledged an order gets no other during the
gap. No bound on starvation: units for which the head waits can go to growing jobs, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.draft import Draft
from queue_policies.easy import easy_pass
from queue_policies.resizing import Movable
from queue_policies.settings import gap, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True, slots=True)
class Malleable:
    """An EASY pass, a shrink for the head, and growth."""

    name: ClassVar[str] = "malleable"
    gap: float = gap(60.0)
    extra: bool = setting(
        False, "whether a job may overtake that ends later, but uses only what the head leaves"
    )

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start; shrink for the head; grow."""
        draft = Draft(state)
        schedule = easy_pass(state, now, extra=self.extra, least=True)
        for job, got in schedule.starts:
            draft.start(job, got.size)
        movable = Movable(state, draft, now, self.gap)
        head = schedule.head
        if head is not None:
            donors = sorted(movable.open, key=lambda job: -job.size)
            movable.admit(head, donors)
        movable.spread(sorted(movable.open, key=lambda job: job.size))
        movable.wake(waiting=len(state.queue) > draft.started)
        return draft.answer(now)
