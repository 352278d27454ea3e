"""Min-agreement: jobs start at their least sizes, and running jobs shrink for waiting ones.

Source: Posner, Hupfeld, Finnerty, "Enhancing Supercomputer Performance with Malleable Job Scheduling
Strategies", Euro-Par 2023 workshops (PECS), section on strategies. Jobs that fit start in order, without
reservation. For each waiting job, in order, the running jobs with the most units above their least sizes give
up some. What is still free goes to those with the fewest above. In contrast to the published code, a waiting
job also uses free units, and not only those that are given up. No bound on starvation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.draft import Draft
from queue_policies.resizing import Movable
from queue_policies.settings import gap
from queue_policies.walk import Walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True, slots=True)
class MinAgreement:
    """Start all at the least size, with others' surplus; the rest goes to those with the least surplus."""

    name: ClassVar[str] = "min-agreement"
    gap: float = gap(0.0)

    def decide(self, state: State, now: float) -> Sequence[Action]:
        """Start, agree, grow."""
        draft = Draft(state)
        movable = Movable(state, draft, now, self.gap)
        surplus = sum(movable.surplus(job) for job in movable.open)
        walk = Walk(state.queue.classes(draft.free + surplus))
        while walk:
            job = walk.job
            missing = max(job.request.size - draft.free, 0)
            donors = sorted(movable.open, key=lambda job: -movable.surplus(job))
            if missing <= surplus and movable.admit(job, donors):
                surplus -= missing
                walk.on()
            else:
                walk.drop()
        movable.spread(sorted(movable.open, key=movable.surplus))
        movable.wake(waiting=len(state.queue) > draft.started)
        return draft.answer(now)
