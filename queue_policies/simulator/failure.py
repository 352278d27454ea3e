"""The model of failing units."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import SimulationError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Failures:
    """How units fail. A job that loses a unit is queued again, and continues from its last checkpoint."""

    mtbf: float
    """Mean seconds after which a unit fails, exponentially distributed."""
    repair: float = 3600.0
    """Seconds after which a failed unit is back."""
    checkpoint: float = 0.0
    """Seconds of computing between checkpoints; each resize makes one too. 0: there are none."""
    restart: float = 0.0
    """Seconds without progress when the job starts again."""

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
        """Return when the next of so many units fails."""
        return now + self._random.expovariate(max(units, 1) / self._failures.mtbf)

    def hit(self, free: int, allocated: Iterable[tuple[int, int]]) -> int | None:
        """Draw which job loses a unit; None: none does. `allocated` has each job with its units."""
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
