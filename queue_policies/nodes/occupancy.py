"""Who holds what on each node, and what placements make of it."""

from __future__ import annotations

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
        self._jobs: list[dict[int, NodeJob]] = [{} for _ in nodes]
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
        return tuple(self._jobs[rank].values())

    def jobs_by_id(self, rank: int) -> dict[int, NodeJob]:
        """Return the same by job, to be copied."""
        return self._jobs[rank]

    def hold(self, job: int, allocation: Allocation, profile: Profile | None) -> None:
        """Note that the job holds these resources, further ones if it holds some already."""
        if profile is None:
            profile = self._profiles.get(job)
        self._profiles[job] = profile
        for rank, (cores, _) in allocation.items():
            add(self._jobs[rank], NodeJob(job, cores, profile))
        self.changed(allocation)

    def reduce(self, job: int, part: Allocation) -> None:
        """Note that the job gives up these resources."""
        for rank, (cores, _) in part.items():
            take_off(self._jobs[rank], job, cores)
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
            table[rank] = rule(self._nodes[rank], self._free[rank], self.jobs_on(rank))
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
        self._jobs: dict[int, dict[int, NodeJob]] = {}
        self._profiles: dict[int, Profile | None] = {}
        self._tables: dict[SummaryRule, list[Any]] = {}
        self._stale: dict[SummaryRule, set[int]] = {}

    def copy(self, free: Callable[[int], RankResources]) -> TrialOccupancy:
        """Return an independent copy, for a trial whose free resources are these."""
        made = TrialOccupancy(self._origin, free, self._nodes)
        made._jobs = {rank: dict(jobs) for rank, jobs in self._jobs.items()}
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
        return self._origin.jobs_on(rank) if changed is None else tuple(changed.values())

    def hold(self, job: int, allocation: Allocation, profile: Profile | None) -> None:
        """Note that the job holds these resources."""
        self._profiles[job] = profile
        for rank, (cores, _) in allocation.items():
            add(self._changing(rank), NodeJob(job, cores, profile))

    def release(self, job: int, allocation: Allocation) -> None:
        """Note that the job gives up all that it holds, which is this."""
        for rank, (cores, _) in allocation.items():
            take_off(self._changing(rank), job, cores)

    def _changing(self, rank: int) -> dict[int, NodeJob]:
        """Return the jobs on a rank that is about to change."""
        for stale in self._stale.values():
            stale.add(rank)
        jobs = self._jobs.get(rank)
        if jobs is None:
            jobs = self._jobs[rank] = self._origin.jobs_by_id(rank).copy()
        return jobs

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


class PresentNodes:
    """Implements `PlacementView` on the nodes of a pool or a trial."""

    __slots__ = ("free", "jobs_on", "nodes", "ranks", "summaries")

    def __init__(
        self, nodes: Sequence[ClusterNode], ranks: Sequence[int], occupancy: Occupancy | TrialOccupancy
    ) -> None:
        self.nodes = nodes
        self.ranks = ranks
        self.free = occupancy.free
        self.jobs_on = occupancy.jobs_on
        self.summaries: Callable[[SummaryRule], Sequence[Any]] = occupancy.summaries


def add(jobs: dict[int, NodeJob], more: NodeJob) -> None:
    """Add one to the jobs of a rank, or further cores to those of one of them."""
    had = jobs.get(more.job)
    jobs[more.job] = more if had is None else had._replace(cores=had.cores | more.cores)


def take_off(jobs: dict[int, NodeJob], job: int, cores: int) -> None:
    """Take these cores from one of the jobs of a rank; it is gone when it has none."""
    had = jobs.get(job)
    if had is None:
        return
    left = had.cores & ~cores
    if left:
        jobs[job] = had._replace(cores=left)
    else:
        del jobs[job]
