"""A workload: jobs, the cluster that they were meant for, and what resizing costs there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from queue_policies.simulator.cost import Cost
from queue_policies.simulator.job import checked

if TYPE_CHECKING:
    from queue_policies.simulator.job import WorkloadJob


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs by submission on `total` units. With a `tick`, policies are asked also every so many seconds.

    Raises WorkloadError for jobs that cannot be simulated, naming the workload.
    """

    name: str
    jobs: tuple[WorkloadJob, ...]
    total: int
    unit: str = "nodes"
    cost: Cost = field(default_factory=Cost)
    tick: float = 0.0

    def __post_init__(self) -> None:
        checked(self.jobs, self.total, self.name)
