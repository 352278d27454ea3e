"""First come, first served: the head of the queue starts when it fits, and nothing overtakes it.

Source: Flux's own default (queue-policy "fcfs"); order is priority descending, then job id. An elastic job
starts at the largest size that fits and keeps it. Bound on starvation: only a higher priority overtakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.walk import place_in_order, start_actions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True, slots=True)
class Fcfs:
    """Strict order. The cost of a decision does not depend on how many jobs wait."""

    name: ClassVar[str] = "fcfs"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start jobs from the head until one does not fit."""
        placed, _ = place_in_order(state.queue, state.cluster.sketch())
        return start_actions(placed)
