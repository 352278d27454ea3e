"""Who holds what on each node, and what placements make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queue_policies.placement.protocol import NodeJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, RankResources
    from queue_policies.placement.records import Profile

    SummaryRule = Callable[[ClusterNode, RankResources, Sequence[NodeJob]], Any]


class Occupancy:
    """The jobs on each rank of a pool, and summaries of ranks, made anew where something has changed."""

    def __init__(self, nodes: Sequence[ClusterNode], free: Sequence[RankResources]) -> None:
        self._nodes = nodes
        self._free = free  # by rank, changed by the pool
        self._jobs: list[tuple[NodeJob, ...]] = [()] * len(nodes)
        self._profiles: dict[int, Profile | None] = {}
        self._tables: dict[SummaryRule, list[Any]] = {}
        self._stale: dict[SummaryRule, set[int]] = {}

    def profile(self, job: int) -> Profile | None:
        """Return the profile of a job that holds something; None: unknown."""
        return self._profiles.get(job)

    def free(self, rank: int) -> RankResources:
        """Return what is free on a rank."""
        return self._free[rank]

    def jobs_on(self, rank: int) -> tuple[NodeJob, ...]:
        """Return who holds something on a rank."""
        return self._jobs[rank]

    def hold(self, job: int, allocation: Allocation, profile: Profile | None) -> None:
        """Note that the job holds these resources, further ones if it holds some already."""
        if profile is None:
            profile = self._profiles.get(job)
        self._profiles[job] = profile
        for rank, (cores, _) in allocation.items():
            self._jobs[rank] = with_job(self._jobs[rank], NodeJob(job, cores, profile))
        self.changed(allocation)

    def reduce(self, job: int, part: Allocation) -> None:
        """Note that the job gives up these resources."""
        for rank, (cores, _) in part.items():
            self._jobs[rank] = without_cores(self._jobs[rank], job, cores)
        self.changed(part)

    def release(self, job: int, allocation: Allocation) -> None:
        """Note that the job gives up all that it holds, which is this."""
        self.reduce(job, allocation)
        self._profiles.pop(job, None)

    def changed(self, ranks: Iterable[int]) -> None:
        """Make the summaries of these ranks anew when they are wanted."""
        for stale in self._stale.values():
            stale.update(ranks)

    def summaries(self, rule: SummaryRule) -> list[Any]:
        """Return what `rule` makes of each rank, by rank."""
        table, stale = self._tables.get(rule), self._stale.setdefault(rule, set())
        if table is None:
            table = self._tables[rule] = [None] * len(self._nodes)
            stale.update(range(len(self._nodes)))
        for rank in stale:
            table[rank] = rule(self._nodes[rank], self._free[rank], self._jobs[rank])
        stale.clear()
        return table


class TrialOccupancy:
    """The same for a trial: only ranks that change are copied."""

    def __init__(
        self, origin: Occupancy, free: Callable[[int], RankResources], nodes: Sequence[ClusterNode]
    ) -> None:
        self.free = free
        self._origin = origin
        self._nodes = nodes
        self._jobs: dict[int, tuple[NodeJob, ...]] = {}
        self._profiles: dict[int, Profile | None] = {}
        self._tables: dict[SummaryRule, list[Any]] = {}
        self._stale: dict[SummaryRule, set[int]] = {}

    def copy(self, free: Callable[[int], RankResources]) -> TrialOccupancy:
        """Return an independent copy, for a trial whose free resources are these."""
        made = TrialOccupancy(self._origin, free, self._nodes)
        made._jobs.update(self._jobs)
        made._profiles.update(self._profiles)
        made._tables = {rule: list(table) for rule, table in self._tables.items()}
        made._stale = {rule: set(stale) for rule, stale in self._stale.items()}
        return made

    def profile(self, job: int) -> Profile | None:
        """Return the profile of a job that holds something here; None: unknown."""
        return self._profiles[job] if job in self._profiles else self._origin.profile(job)

    def jobs_on(self, rank: int) -> tuple[NodeJob, ...]:
        """Return who holds something on a rank."""
        changed = self._jobs.get(rank)
        return self._origin.jobs_on(rank) if changed is None else changed

    def hold(self, job: int, allocation: Allocation, profile: Profile | None) -> None:
        """Note that the job holds these resources."""
        self._profiles[job] = profile
        for rank, (cores, _) in allocation.items():
            self._jobs[rank] = with_job(self.jobs_on(rank), NodeJob(job, cores, profile))
            self._forget(rank)

    def release(self, job: int, allocation: Allocation) -> None:
        """Note that the job gives up all that it holds, which is this."""
        for rank, (cores, _) in allocation.items():
            self._jobs[rank] = without_cores(self.jobs_on(rank), job, cores)
            self._forget(rank)

    def _forget(self, rank: int) -> None:
        for stale in self._stale.values():
            stale.add(rank)

    def summaries(self, rule: SummaryRule) -> list[Any]:
        """Return what `rule` makes of each rank, by rank."""
        table = self._tables.get(rule)
        if table is None:
            table = self._tables[rule] = list(self._origin.summaries(rule))
            self._stale[rule] = set(self._jobs)
        stale = self._stale[rule]
        for rank in stale:
            table[rank] = rule(self._nodes[rank], self.free(rank), self.jobs_on(rank))
        stale.clear()
        return table


@dataclass(frozen=True, slots=True)
class PresentNodes:
    """Implements `PlacementView` on the nodes of a pool or a trial."""

    nodes: Sequence[ClusterNode]
    ranks: Sequence[int]
    _occupancy: Occupancy | TrialOccupancy

    def free(self, rank: int) -> RankResources:
        """Return what is free on a rank."""
        return self._occupancy.free(rank)

    def jobs_on(self, rank: int) -> Sequence[NodeJob]:
        """Return who holds something on a rank."""
        return self._occupancy.jobs_on(rank)

    def summaries(self, summary: SummaryRule) -> Sequence[Any]:
        """Return what a pure function makes of each rank, by rank."""
        return self._occupancy.summaries(summary)


def with_job(jobs: tuple[NodeJob, ...], more: NodeJob) -> tuple[NodeJob, ...]:
    """Return the jobs of a rank with one more, or with more cores for one of them."""
    for index, each in enumerate(jobs):
        if each.job == more.job:
            joined = each._replace(cores=each.cores | more.cores)
            return (*jobs[:index], joined, *jobs[index + 1 :])
    return (*jobs, more)


def without_cores(jobs: tuple[NodeJob, ...], job: int, cores: int) -> tuple[NodeJob, ...]:
    """Return the jobs of a rank, one of them without these cores; it is gone when it has none."""
    left = (each._replace(cores=each.cores & ~cores) if each.job == job else each for each in jobs)
    return tuple(each for each in left if each.cores)
