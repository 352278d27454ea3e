"""Builders for workloads, and policies that read as what they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from queue_policies.simulator.cost import Cost
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import Amdahl, Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.records import Action, State


@dataclass(frozen=True)
class Scripted:
    """A policy that returns the actions of a function."""

    answer: Callable[[State, float], Sequence[Action]]
    name: ClassVar[str] = "scripted"

    def decide(self, state: State, now: float) -> Sequence[Action]:
        return self.answer(state, now)


@dataclass
class Kit:
    """What tests build with."""

    Scripted: type[Scripted] = Scripted
    seen: list[Any] = field(default_factory=list)

    @staticmethod
    def rigid(number: int, size: int, seconds: float, submitted: float = 0.0, **more: Any) -> WorkloadJob:
        return WorkloadJob(number, submitted, size, size, Fixed(seconds), **more)

    @staticmethod
    def malleable(
        number: int, least: int, most: int, serial: float, submitted: float = 0.0, **more: Any
    ) -> WorkloadJob:
        """It divides all of its work: `serial` seconds on one unit."""
        return WorkloadJob(number, submitted, least, most, Amdahl(serial, 1.0), malleable=True, **more)

    @staticmethod
    def workload(*jobs: WorkloadJob, total: int = 8, cost: Cost | None = None, tick: float = 0.0) -> Workload:
        return Workload("test", jobs, total, "nodes", cost or Cost(), tick)


@pytest.fixture
def kit() -> Kit:
    return Kit()
