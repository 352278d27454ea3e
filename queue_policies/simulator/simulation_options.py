"""What policies know of the jobs, and what goes wrong, in one simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.estimate import Estimates

if TYPE_CHECKING:
    from queue_policies.simulator.failure import Failures


@dataclass(frozen=True, slots=True)
class Preemption:
    """What it costs to preempt a job.

    Seconds to write its `checkpoint`, for which it holds its units without progress, and as many without
    progress when it begins again (`restart`).
    """

    checkpoint: float = 0.0
    restart: float = 0.0

    def __post_init__(self) -> None:
        for name in ("checkpoint", "restart"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SimulationError(
                    f"preemption: {name} is {getattr(self, name):g} s; needed is a time from 0 on"
                )


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """`refusals` is the share of orders that programs refuse; `seed` draws all that is left to chance."""

    estimates: Estimates = field(default_factory=Estimates)
    refusals: float = 0.0
    failures: Failures | None = None
    seed: int = 0
    preemption: Preemption = field(default_factory=Preemption)

    def __post_init__(self) -> None:
        if not 0 <= self.refusals < 1:
            raise SimulationError(f"refusals are {self.refusals:g}; needed is a share from 0 to below 1")
