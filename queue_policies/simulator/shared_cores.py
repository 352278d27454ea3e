"""Contention of jobs that share cores: a host, and guests that have a fraction of its cores' time.

A job is as fast as its quota allows, and slower by what it shares with its neighbours:

    speed = min(1, quota * cores / (cpu * size)) / s
    s = 1 + base + memory * max(0, sum of their memory - 1) + io * [two of them are bound by I/O]
        + coupling * (1 - quota)

Source of the programs' profiles: Souza, Pelckmans and Tordsson, "A HPC Co-Scheduler with Reinforcement
Learning", 2021. The model is ours.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.sharing import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from queue_policies.simulator.contention import Occupant, Occupants
    from queue_policies.simulator.job import WorkloadJob


class ProgramUse(NamedTuple):
    """What a program uses alone, of the cores that it asks for."""

    cpu: float
    """The fraction of their time, above 0."""
    memory: float = 0.0
    """The fraction of the memory that goes with them."""
    io: bool = False
    """Whether it waits for I/O most of the time."""
    coupling: float = 0.0
    """What a quota costs it beyond the cores that it takes, as its ranks wait for the slowest of them."""


UNKNOWN = ProgramUse(1.0)
"""Of a kind that is not among the model's."""


@dataclass(frozen=True, slots=True)
class QuotaContention:
    """Programs by the kinds of jobs, what sharing costs, and how usage is measured."""

    programs: Mapping[str, ProgramUse]
    base: float = 0.1
    """What any neighbour costs."""
    memory: float = 1.2
    """What memory costs that neighbours need beyond what there is."""
    io: float = 0.2
    """What a neighbour costs that waits for I/O, too."""
    interval: float = 30.0
    """Seconds after which the usage of a job that is alone is known."""
    noise: float = 0.0
    """The standard deviation of what is measured of usage."""
    reports_degraded: bool = False
    """Whether a host that guests slow down much is reported so many seconds after one has come."""

    def seconds(self, jobs: Iterable[int], occupants: Occupants) -> Mapping[int, float]:
        """Return the seconds of the whole of each of these jobs, as they compute now."""
        return {job: self._seconds(occupants[job], occupants) for job in jobs}

    def _seconds(self, occupant: Occupant, occupants: Occupants) -> float:
        program = self.program(occupant.job)
        host = occupant.host if occupant.host in occupants else None
        cores = occupant.size if host is None else occupants[host].size
        speed = min(1.0, occupant.fraction * cores / (program.cpu * occupant.size))
        others = {
            *occupants.guests(occupant.job.id),
            *(() if host is None else (host, *occupants.guests(host))),
        }
        beside = [
            self.program(occupants[each].job) for each in others - {occupant.job.id} if each in occupants
        ]
        stretch = self.stretch(program, beside) + program.coupling * (1 - occupant.fraction)
        return occupant.job.time.seconds(occupant.size) * stretch / speed

    def stretch(self, program: ProgramUse, beside: Iterable[ProgramUse]) -> float:
        """Return by what a program beside these is slower than its quota alone would have it."""
        others = list(beside)
        if not others:
            return 1.0
        memory = program.memory + sum(each.memory for each in others) - 1
        io = program.io and any(each.io for each in others)
        return 1 + self.base + self.memory * max(0.0, memory) + self.io * io

    def program(self, job: WorkloadJob) -> ProgramUse:
        """Return what a job runs."""
        return self.programs.get(job.kind, UNKNOWN)

    def measured(self, job: WorkloadJob, size: int, since: float, seed: int) -> Usage:
        """Return what is measured of a job that is alone; the same seed measures the same."""
        program = self.program(job)
        if not self.noise:
            return Usage(min(1.0, program.cpu), program.memory, size, since)
        stream = random.Random(f"{seed}/{job.id}")  # noqa: S311 - a simulation's
        cpu, memory = (
            min(1.0, max(0.0, stream.gauss(each, self.noise))) for each in (program.cpu, program.memory)
        )
        return Usage(cpu, memory, size, since)
