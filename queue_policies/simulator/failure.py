"""Units that fail and are repaired, and what jobs lose by it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Failures:
    """Each unit fails after `mtbf` seconds on average (exponential) and is back `repair` seconds later.

    A job that loses a unit is queued again. It begins from its last checkpoint, made every `checkpoint`
    seconds of computing and at each resize (0: it begins from nothing), after `restart` seconds without
    progress.
    """

    mtbf: float
    repair: float = 3600.0
    checkpoint: float = 0.0
    restart: float = 0.0

    def __post_init__(self) -> None:
        if not self.mtbf > 0:
            raise SimulationError(
                f"failures: a mean time of {self.mtbf:g} s between them; needed is one above 0"
            )
        for name in ("repair", "checkpoint", "restart"):
            if not getattr(self, name) >= 0:
                raise SimulationError(
                    f"failures: {name} is {getattr(self, name):g} s; needed is a time from 0 on"
                )


class FailureModel:
    """Draws when something fails, and what."""

    def __init__(self, failures: Failures, seed: int) -> None:
        self._failures = failures
        self._random = random.Random(f"failures/{seed}")  # noqa: S311 - a simulation's

    def next_after(self, now: float, units: int) -> float:
        """When the next of so many units fails."""
        return now + self._random.expovariate(max(units, 1) / self._failures.mtbf)

    def hit(self, free: int, allocated: Iterable[tuple[int, int]]) -> int | None:
        """Who loses a unit: one of the jobs, given with what they hold, or nobody."""
        rows = list(allocated)
        index = self._random.randrange(max(1, free + sum(units for _, units in rows)))
        index -= max(0, free)
        for job, units in rows:
            if index < 0:
                return None
            index -= units
            if index < 0:
                return job
        return None
