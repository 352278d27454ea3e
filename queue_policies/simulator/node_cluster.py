"""A simulated cluster of nodes with domains, on which a placement gives jobs their cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.nodes import low_ranks
from queue_policies.nodes.pool import Pool
from queue_policies.nodes.slots import ids

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.placement.protocol import Placement
    from queue_policies.placement.records import TaskShape
    from queue_policies.records import Sketch
    from queue_policies.simulator.job import WorkloadJob


class SimulatedNode(NamedTuple):
    """A node of a simulated cluster."""

    rank: int
    host: str
    cores: int
    """Bits of core ids."""
    gpus: int = 0
    """Bits of GPU ids."""
    domains: tuple[int, ...] = ()
    """Bits of the core ids of each NUMA domain; empty: one domain of all cores."""


def alike(nodes: int, domains: int, cores: int) -> tuple[SimulatedNode, ...]:
    """Return so many nodes, each with so many domains of so many cores."""
    each = (1 << cores) - 1
    parts = tuple(each << number * cores for number in range(domains))
    return tuple(
        SimulatedNode(rank, f"node{rank}", (1 << domains * cores) - 1, 0, parts if domains > 1 else ())
        for rank in range(nodes)
    )


def domains_of_all(nodes: Iterable[SimulatedNode]) -> tuple[tuple[int, ...], ...]:
    """Return the domains of each node: at least one."""
    return tuple(node.domains or (node.cores,) for node in nodes)


class CoreRequest(NamedTuple):
    """A request for a number of cores, wherever the placement finds them."""

    slots: int
    shape: TaskShape | None = None
    nodes: int = 0
    cores: int = 1
    gpus: int = 0
    exclusive: bool = False
    constraint: Hashable = None

    @property
    def size(self) -> int:
        """The number of cores."""
        return self.slots

    @property
    def workers(self) -> int:
        """The number of workers of an elastic job: each has a core."""
        return self.slots

    def with_workers(self, count: int) -> CoreRequest:
        """Return the same request for `count` workers."""
        return self._replace(slots=count)

    def sized(self, size: int) -> CoreRequest:
        """Return the same request for `size` cores."""
        return self._replace(slots=size)


def core_requests(jobs: Iterable[WorkloadJob]) -> dict[int, CoreRequest]:
    """Return the requests of some jobs, for their least sizes, by id."""
    return {job.id: CoreRequest(job.min, job.shape) for job in jobs}


class NodeCluster:
    """Nodes whose cores are the units; what each job holds, by number and by core.

    `requests` has that of each job, at any size.
    """

    def __init__(
        self, nodes: Sequence[SimulatedNode], requests: Mapping[int, CoreRequest], placement: Placement | None
    ) -> None:
        self.pool = Pool(nodes, _any, placement)
        for node in nodes:
            self.pool.mark(node.rank, up=True)
        self._sizes: dict[int, int] = {}
        self._requests = requests
        self._workers: dict[int, int] = {}

    @property
    def total(self) -> int:
        """All cores."""
        return self.pool.total

    @property
    def free(self) -> int:
        """The free cores."""
        return self.pool.free

    def sketch(self) -> Sketch:
        """Return a scratch copy of the present state."""
        return self.pool.sketch()

    def request(self, job: int, size: int) -> CoreRequest:
        """Return a job's request for so many cores."""
        return self._requests[job].sized(size)

    def allocation(self, job: int) -> Allocation:
        """Return the job's cores."""
        return self.pool.allocation(job)

    def size(self, job: int) -> int:
        """Return how many cores a job has."""
        return self._sizes[job]

    def workers(self, job: int) -> int:
        """Return how many task workers a job that has its cores is made of."""
        if job not in self._workers:
            request = self.request(job, self._sizes[job])
            if request.shape is not None and request.shape.workers:
                return min(request.shape.workers, request.size)
            workers = self.pool.workers_of(request, self.pool.allocation(job))
            self._workers[job] = sum(map(len, workers.values()))
        return self._workers[job]

    def hold(self, job: int, size: int) -> None:
        """Give the job cores, or take some back, so that it has `size`.

        Further cores are those of the placement or, where it finds none, any: a policy that lets a job grow
        knows only how many are free.
        """
        had = self._sizes.get(job, 0)
        if size < had:
            self.pool.reduce(job, _last(self.pool.allocation(job), had - size))
        elif size > had:
            more = self.request(job, size - had)
            placed = self.pool.extend(job, more) if had else self.pool.alloc(job, more)
            if placed is None:
                self._add_any(job, more)
        self._sizes[job] = size
        self._workers.pop(job, None)

    def release(self, job: int) -> None:
        """Release all cores of the job."""
        self._sizes.pop(job, None)
        self.pool.release(job)

    def _add_any(self, job: int, request: CoreRequest) -> None:
        free, nodes = self.pool.rank_resources, self.pool.nodes
        found = low_ranks.place(request, range(len(nodes)), free.__getitem__, nodes)
        if found is None:
            raise AssertionError(f"job {job} gets {request.size} cores where {self.free} are free")
        self.pool.add(job, found)


def _last(allocation: Allocation, count: int) -> Allocation:
    """Return the last of a job's cores, which a shrinking program gives back."""
    cores = [(rank, core) for rank, (bits, _) in sorted(allocation.items()) for core in ids(bits)]
    found: Allocation = {}
    for rank, core in cores[len(cores) - count :]:
        found[rank] = (found.get(rank, (0, 0))[0] | 1 << core, 0)
    return found


def _any(node: object, constraint: object) -> bool:  # noqa: ARG001 - jobs here have no constraint
    return True
