"""A workload: jobs, the cluster for which they were made, and the cost of resizing there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.cost import Cost
from queue_policies.simulator.job import checked

if TYPE_CHECKING:
    from queue_policies.simulator.job import WorkloadJob


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload. Raises WorkloadError, with the workload's name, for jobs that cannot be simulated."""

    name: str
    jobs: tuple[WorkloadJob, ...]
    """By submission."""
    total: int
    """The cluster's units."""
    unit: str = "nodes"
    cost: Cost = field(default_factory=Cost)
    tick: float = 0.0
    """Policies are also asked every so many seconds; 0: only after changes."""

    def __post_init__(self) -> None:
        checked(self.jobs, self.total, self.name)
