"""A workload: jobs, the cluster for which they were made, and the cost of resizing there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from queue_policies.simulator.cost import Cost
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.job import checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.placement.protocol import Placement
    from queue_policies.simulator.contention import Contention
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.node_cluster import SimulatedNode

Oversized = Literal["refuse", "skip", "clip"]
"""What becomes of a job that needs more units than there are: see `fitted`."""


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
    contention: Contention | None = None
    """How jobs slow each other down; None: each takes the time that it has alone."""
    nodes: tuple[SimulatedNode, ...] = ()
    """The nodes whose cores the units are; empty: units are only counted."""
    placement: Placement | None = None
    """Which cores of the nodes a job gets; None: low ranks are filled first."""
    soft_limits: bool = False
    """Whether a job goes on when its time limit is over."""

    def __post_init__(self) -> None:
        checked(self.jobs, self.total, self.name)
        cores = sum(node.cores.bit_count() for node in self.nodes)
        if self.nodes and cores != self.total:
            raise WorkloadError(
                f"{self.name}: a total of {self.total} units, and its nodes have {cores} cores; other nodes"
                " are given by --nodes, --domains and --cores"
            )


def fitted(jobs: Iterable[WorkloadJob], total: int, oversized: Oversized) -> tuple[WorkloadJob, ...]:
    """Return the jobs for a cluster of `total` units.

    `refuse` changes nothing, and making the workload raises. `skip` leaves out a job that needs more.
    `clip` gives it all units, for the run time that it has there.
    """
    if oversized == "skip":
        return tuple(job for job in jobs if job.min <= total)
    if oversized == "clip":
        return tuple(
            job if job.min <= total else job._replace(min=total, max=total, malleable=False) for job in jobs
        )
    return tuple(jobs)
