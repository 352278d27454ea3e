"""What starting and resizing cost, apart from the computation itself.

A resize has two parts. During the `delay` the order is under way: the computation goes on at its old size,
and a job that shrinks keeps its units. During the `pause` after it, the job holds its new size without
progress.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from queue_policies.simulator.job import WorkloadJob


class ResizeCost(NamedTuple):
    """The seconds that one resize takes."""

    delay: float = 0.0
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """No cost; and what all models of cost have in common.

    `release`: units of an ended or shrunk job are free so many seconds later. `registration`: a malleable job
    heeds orders so many seconds after its start. `blocking`: nothing is decided while a shrink is under way.
    """

    release: float = 0.0
    registration: float = 0.0
    blocking: bool = False

    def start(self, job: WorkloadJob, size: int) -> float:  # noqa: ARG002 - others need them
        """Seconds without progress at the beginning."""
        return 0.0

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """What changing the size from `old` to `new` takes."""
        return ResizeCost()


@dataclass(frozen=True, slots=True)
class Relaunch(Cost):
    """A resize restarts the processes: `base + unit * size` seconds, after the job's data were balanced anew.

    Source: "An elastic job scheduler for HPC applications on the cloud", the model of rescaling of Charm++
    jobs.
    """

    base: float = 0.0
    unit: float = 0.0

    def start(self, job: WorkloadJob, size: int) -> float:  # noqa: ARG002
        """Seconds until the processes are up."""
        return self.base + self.unit * size

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """Balance the data, start again at the new size; freed units are free at once."""
        return ResizeCost(pause=job.redistribution + self.base + self.unit * new)


@dataclass(frozen=True, slots=True)
class PerUnit(Cost):
    """The computation goes on while units come or go, each taking its time."""

    grow: float = 0.0
    shrink: float = 0.0

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """So many seconds for each unit that comes or goes."""
        return ResizeCost(delay=self.grow * (new - old) if new > old else self.shrink * (old - new))
