"""The options of one simulation: estimates, refusals, failures and preemption."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.estimate import Estimates

if TYPE_CHECKING:
    from queue_policies.records import Memory
    from queue_policies.simulator.failure import Failures


@dataclass(frozen=True, slots=True)
class Preemption:
    """The cost of preempting a job."""

    checkpoint: float = 0.0
    """Seconds to write its checkpoint, in which it holds its units without progress."""
    restart: float = 0.0
    """Seconds without progress when it begins again."""

    def __post_init__(self) -> None:
        for name in ("checkpoint", "restart"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SimulationError(
                    f"preemption: {name} is {getattr(self, name):g} s; needed is a time from 0 on"
                )


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """The options of one simulation."""

    estimates: Estimates = field(default_factory=Estimates)
    refusals: float = 0.0
    """The share of orders that programs refuse."""
    failures: Failures | None = None
    seed: int = 0
    """For all that is random."""
    preemption: Preemption = field(default_factory=Preemption)
    memory: Memory = None
    """What the policy remembers at the beginning."""

    def __post_init__(self) -> None:
        if not 0 <= self.refusals < 1:
            raise SimulationError(f"refusals are {self.refusals:g}; needed is a share from 0 to below 1")
