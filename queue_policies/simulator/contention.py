"""How fast jobs compute beside each other: the protocol of models, and the rates of the jobs that run.

A model is pure: from who computes where it returns how long each job takes. `ComputingRates` asks it again at
each start, end and resize, for the jobs that this touches, and for no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.job import WorkloadJob


class Occupant(NamedTuple):
    """A job that computes: where, and with how much of its cores' time."""

    job: WorkloadJob
    size: int
    """The units on which it computes."""
    allocation: Allocation
    """Its cores by rank; empty on a cluster that only counts units."""
    host: int | None = None
    """The job on whose cores it computes as a guest; None: its cores are its own."""
    fraction: float = 1.0
    """How much of the time of these cores it may use: its quota."""
    workers: int = 1
    """Of how many task workers it is made, each with cores of its own."""


class Occupants:
    """The jobs that compute, by id, and which of them touch each other."""

    def __init__(self) -> None:
        self._occupants: dict[int, Occupant] = {}
        self._on: dict[int, set[int]] = {}
        self._guests: dict[int, set[int]] = {}

    def __getitem__(self, job: int) -> Occupant:
        return self._occupants[job]

    def __contains__(self, job: object) -> bool:
        return job in self._occupants

    def on(self, rank: int) -> Collection[int]:
        """Return the jobs that have cores on a rank."""
        return self._on.get(rank, ())

    def guests(self, job: int) -> Collection[int]:
        """Return the guests of a job."""
        return self._guests.get(job, ())

    def touched(self, job: int) -> set[int]:
        """Return the job itself, those on the same nodes, its host, and its guests; none where it is gone."""
        if job not in self._occupants:
            return set()
        occupant = self._occupants[job]
        found = {job, *self.guests(job)}
        found.update(*(self._on[rank] for rank in occupant.allocation))
        if occupant.host is not None:
            found.add(occupant.host)
        return found & self._occupants.keys()

    def add(self, occupant: Occupant) -> None:
        """Add a job, or set what has changed of it."""
        job = occupant.job.id
        self.remove(job)
        self._occupants[job] = occupant
        for rank in occupant.allocation:
            self._on.setdefault(rank, set()).add(job)
        if occupant.host is not None:
            self._guests.setdefault(occupant.host, set()).add(job)

    def remove(self, job: int) -> None:
        """Remove a job, if it is there. Its guests keep its id as that of their host until they are set."""
        occupant = self._occupants.pop(job, None)
        if occupant is None:
            return
        for rank in occupant.allocation:
            self._on[rank].discard(job)
        if occupant.host is not None:
            self._guests[occupant.host].discard(job)


class Contention(Protocol):
    """A model of how jobs slow each other down. It is immutable, and part of a workload."""

    def seconds(self, jobs: Iterable[int], occupants: Occupants) -> Mapping[int, float]:
        """Return the seconds of the whole of each of these jobs, as they compute now. All are above 0."""


class ComputingRates:
    """Who computes where; at each change, those whose seconds differ by it get others.

    `repace` is called with the job's id, its new seconds, and the time.
    """

    def __init__(self, contention: Contention, repace: Callable[[int, float, float], None]) -> None:
        self.occupants = Occupants()
        self._contention = contention
        self._repace = repace

    def enter(self, occupant: Occupant, now: float) -> float:
        """Add a job, or set what has changed of it; return its seconds. `repace` is called for others."""
        job = occupant.job.id
        touched = self.occupants.touched(job)
        self.occupants.add(occupant)
        touched |= self.occupants.touched(job)
        seconds = dict(self._contention.seconds(sorted(touched), self.occupants))
        own = seconds.pop(job)
        self._change(seconds, now)
        return own

    def leave(self, job: int, now: float) -> None:
        """Remove a job, if it is there."""
        touched = self.occupants.touched(job) - {job}
        self.occupants.remove(job)
        if touched:
            self._change(self._contention.seconds(sorted(touched), self.occupants), now)

    def _change(self, seconds: Mapping[int, float], now: float) -> None:
        for job, each in seconds.items():
            self._repace(job, each, now)
