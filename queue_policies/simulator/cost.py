"""The costs of starting and resizing, apart from the computation itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.simulator.interpolation import between

if TYPE_CHECKING:
    from queue_policies.simulator.job import WorkloadJob


class ResizeCost(NamedTuple):
    """The seconds that one resize takes, in two parts."""

    delay: float = 0.0
    """The order is under way: the computation goes on at its old size; a shrinking job keeps its units."""
    pause: float = 0.0
    """After it: the job holds its new size without progress."""


@dataclass(frozen=True, slots=True)
class Cost:
    """No cost, and the base of all models of cost."""

    release: float = 0.0
    """Seconds after which the units of an ended or shrunk job are free."""
    registration: float = 0.0
    """Seconds after its start from which on a malleable job accepts orders."""
    blocking: bool = False
    """Whether no decision is made while a shrink is under way."""

    def start(self, job: WorkloadJob, size: int, workers: int = 1) -> float:  # noqa: ARG002 - others need them
        """Return the seconds without progress at the beginning; `workers` are those of its tasks."""
        return 0.0

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """Return the seconds that a resize from `old` to `new` takes."""
        return ResizeCost()


@dataclass(frozen=True, slots=True)
class Relaunch(Cost):
    """A resize restarts the processes: `base + unit * size` seconds, after the job's data were balanced.

    Source: "An elastic job scheduler for HPC applications on the cloud", the model of rescaling of Charm++
    jobs.
    """

    base: float = 0.0
    unit: float = 0.0

    def start(self, job: WorkloadJob, size: int, workers: int = 1) -> float:  # noqa: ARG002
        """Return the seconds until the processes are up."""
        return self.base + self.unit * size

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """Return the seconds to balance the data and restart at the new size; units are free at once."""
        return ResizeCost(pause=job.redistribution + self.base + self.unit * new)


@dataclass(frozen=True, slots=True)
class PerUnit(Cost):
    """The computation goes on while units are added or removed. Each takes some seconds."""

    grow: float = 0.0
    shrink: float = 0.0

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:  # noqa: ARG002
        """Return the seconds for all units that are added or removed."""
        return ResizeCost(delay=self.grow * (new - old) if new > old else self.shrink * (old - new))


@dataclass(frozen=True, slots=True)
class PerWorker(Cost):
    """A start takes some seconds at some numbers of task workers, ascending, and a line's between them."""

    starts: tuple[tuple[int, float], ...] = ((1, 0.0),)

    def start(self, job: WorkloadJob, size: int, workers: int = 1) -> float:  # noqa: ARG002
        """Return the seconds until all workers are up; beyond the last number those of it."""
        return between(self.starts, workers)
