"""Contention in memory domains: how tasks that share a domain's bandwidth slow each other down.

A job takes `compute + memory * stretch` seconds. The stretch is that of the worst of its domains:

    stretch = 1 + slope * max(0, demand - knee)      demand: the sum over the tasks in the domain

The demand of tasks that no affinity binds is spread over all domains of their node.

Source of what is modelled: Liu and Guitart, "Fine-Grained Scheduling for Containerized HPC Workloads in
Kubernetes Clusters", 2022. The model is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from queue_policies.placement.records import Affinity
from queue_policies.simulator.interpolation import between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from queue_policies.simulator.contention import Occupant, Occupants


@dataclass(frozen=True, slots=True)
class KindOfJob:
    """What a program is to the model. Times are seconds of a whole job that computes alone."""

    compute: float
    """What no other job can slow down."""
    memory: float = 0.0
    """What is bound to memory."""
    demand: float = 0.0
    """What a task asks of its domain's bandwidth, where that of a task of STREAM is 1."""
    by_worker: tuple[tuple[int, float], ...] = ()
    """By what `compute` is multiplied at some numbers of tasks a worker, ascending; empty: by 1."""
    unpinned: float = 1.0
    """By what `compute` is multiplied where no affinity binds the tasks."""
    scattered: float = 0.0
    """In place of `compute` where the job has several nodes: its messages leave them. 0: no other."""


@dataclass(frozen=True, slots=True)
class DomainContention:
    """Kinds of jobs in domains; a kind that is not among them takes its own time, and disturbs nobody."""

    kinds: Mapping[str, KindOfJob]
    domains: tuple[tuple[int, ...], ...]
    """The bits of the cores of each domain, by rank."""
    knee: float
    """The demand of a domain up to which nothing slows down."""
    slope: float
    """By how much of `memory` each unit of demand above it slows down."""
    unpinned: float = 1.0
    """By what `memory` is multiplied where no affinity binds the tasks."""

    def seconds(self, jobs: Iterable[int], occupants: Occupants) -> Mapping[int, float]:
        """Return the seconds of the whole of each of these jobs, as they compute now."""
        demands: dict[int, Sequence[float]] = {}
        found = {}
        for job in jobs:
            occupant = occupants[job]
            for rank in occupant.allocation:
                if rank not in demands:
                    demands[rank] = self._demands(rank, occupants)
            found[job] = self._seconds(occupant, demands)
        return found

    def _demands(self, rank: int, occupants: Occupants) -> Sequence[float]:
        """Return the demand in each domain of a rank."""
        domains = self.domains[rank]
        found = [0.0] * len(domains)
        for job in occupants.on(rank):
            occupant = occupants[job]
            kind = self.kinds.get(occupant.job.kind)
            if kind is None or not kind.demand:
                continue
            cores = occupant.allocation[rank][0]
            if is_pinned(occupant):
                for index, domain in enumerate(domains):
                    found[index] += kind.demand * (cores & domain).bit_count()
            else:
                spread = kind.demand * cores.bit_count() / len(domains)
                for index in range(len(domains)):
                    found[index] += spread
        return found

    def _seconds(self, occupant: Occupant, demands: Mapping[int, Sequence[float]]) -> float:
        kind = self.kinds.get(occupant.job.kind)
        if kind is None:
            return occupant.job.time.seconds(occupant.size)
        pinned = is_pinned(occupant)
        compute = kind.compute
        if kind.by_worker:
            compute *= between(kind.by_worker, -(-occupant.size // occupant.workers))
        if kind.scattered and len(occupant.allocation) > 1:
            compute = kind.scattered
        if not pinned:
            compute *= kind.unpinned
        if not kind.memory:
            return compute
        memory = kind.memory if pinned else kind.memory * self.unpinned
        return compute + memory * self._stretch(occupant, demands, pinned)

    def _stretch(self, occupant: Occupant, demands: Mapping[int, Sequence[float]], pinned: bool) -> float:
        worst = 0.0
        for rank, (cores, _) in occupant.allocation.items():
            for domain, demand in zip(self.domains[rank], demands[rank], strict=True):
                if demand > worst and (not pinned or cores & domain):
                    worst = demand
        return 1.0 + self.slope * max(0.0, worst - self.knee)


def is_pinned(occupant: Occupant) -> bool:
    """Return whether the tasks of a job are bound to its cores."""
    shape = occupant.job.shape
    return shape is None or shape.affinity is not Affinity.NONE
