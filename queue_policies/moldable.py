"""Moldable jobs by priority: a job's size is chosen when it starts, and kept.

Source: the variant "moldable" in the comparison of the paper on priority-based elastic scheduling of
Charm++ jobs on Kubernetes, section on evaluation. The same as `priority-elastic` with an infinite gap. No
bound on starvation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.backfill import start_what_fits
from queue_policies.walk import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True, slots=True)
class Moldable:
    """Each job that fits starts, in order, at the largest size that is free."""

    name: ClassVar[str] = "moldable"

    def decide(self, state: State, now: float) -> Sequence[Action]:  # noqa: ARG002 - time plays no part
        """Start, in order, each job that fits."""
        return start_what_fits(state, place)
