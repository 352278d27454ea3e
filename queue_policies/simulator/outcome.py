"""The outcome of one simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from queue_policies.nodes.records import Allocation
    from queue_policies.records import Memory
    from queue_policies.simulator.node_cluster import SimulatedNode

End = Literal["completed", "timeout"]


class JobOutcome(NamedTuple):
    """The outcome of one job."""

    id: int
    kind: str
    user: int
    priority: int
    submitted: float
    started: float
    ended: float
    end: End
    sizes: tuple[tuple[float, int], ...]
    """The units that it held from each time on; the last are 0, at their return."""
    grows: int = 0
    shrinks: int = 0
    refusals: int = 0
    restarts: int = 0
    idle: float = 0.0
    """Seconds for which it held units without progress.

    These are its start, its resizes, its checkpoints when it was preempted, and work lost with a unit.
    """
    preemptions: int = 0

    @property
    def wait(self) -> float:
        """Seconds from submission to (first) start; paper A calls it response time."""
        return self.started - self.submitted

    @property
    def turnaround(self) -> float:
        """Seconds from submission to end; paper A calls it completion time."""
        return self.ended - self.submitted

    def spans(self) -> Iterator[tuple[float, float, int]]:
        """Yield spans of time: begin, end, and the units held between them."""
        for (begin, size), (end, _) in zip(self.sizes, self.sizes[1:], strict=False):
            if size and end > begin:
                yield begin, end, size

    def unit_seconds(self) -> float:
        """Return the sum of units times seconds."""
        if len(self.sizes) == 2:  # most jobs, and there may be many
            (begin, size), (end, _) = self.sizes
            return (end - begin) * size
        return sum((end - begin) * size for begin, end, size in self.spans())


class Requested(NamedTuple):
    """What a job asked for: a rigid one has one size, `min` = `max`."""

    min: int
    max: int
    malleable: bool
    """Whether it may be resized while it runs; else one with several sizes is moldable."""
    limit: float
    """In seconds; inf: none."""


class QuotaChange(NamedTuple):
    """A quota from a time on."""

    time: float
    fraction: float
    """Of the time of the cores that the job runs on."""
    host: int | None
    """The job whose cores these are; None: they are its own."""


class WeightSample(NamedTuple):
    """How a policy that learns weighs its experts from a time on."""

    time: float
    weights: tuple[tuple[str, float], ...]
    """By the experts' names."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run: the jobs in the order of their submission, and the number of decisions."""

    workload: str
    policy: str
    seed: int
    total: int
    """Units of the cluster."""
    unit: str
    """What the units are, such as `nodes` or `slots`."""
    jobs: tuple[JobOutcome, ...]
    decisions: int
    requested: tuple[Requested, ...] = ()
    """What each job asked for, in their order."""
    nodes: tuple[SimulatedNode, ...] = ()
    """The nodes, by rank; empty where units are only counted."""
    allocations: tuple[tuple[tuple[float, Allocation], ...], ...] = ()
    """On nodes, for each job, in their order: which cores it had from each time on; the last are none."""
    quotas: Mapping[int, tuple[QuotaChange, ...]] = field(default_factory=dict)
    """Of jobs that had any, by id. Before the first one a job had its cores alone."""
    weights: tuple[WeightSample, ...] = ()
    """Of a policy that learns: how it weighed its experts, whenever that changed."""
    notes: tuple[str, ...] = ()
    """What the policy had to log."""
    memory: Memory = None
    """What the policy remembers at the end."""

    @property
    def begin(self) -> float:
        """When the first job was submitted."""
        return min(job.submitted for job in self.jobs)

    @property
    def last_end(self) -> float:
        """When the last job ended."""
        return max(job.ended for job in self.jobs)
