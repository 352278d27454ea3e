"""The task workers of an allocation: which cores each has, and how many tasks (Algorithm 2).

They follow from the request and the allocation alone, so that they are the same after a restart of the lead,
and for the simulator, the embedded instance and real Flux.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.nodes.domains import domains_of, lowest, parts_of
from queue_policies.placement import granularity as divisions
from queue_policies.placement.distribution import distribute, portions
from queue_policies.placement.packing import pack
from queue_policies.placement.records import Affinity, ProfileKind, TaskShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, NodeRequest


class TaskWorker(NamedTuple):
    """Some tasks of a job with one common set of cores."""

    cores: int
    """Bits of core ids."""
    tasks: int


class _Rank(NamedTuple):
    """What a job has on one rank."""

    cores: int
    slots: int
    domains: Sequence[int]

    def parts(self, each: int) -> list[int]:
        """Return how many slots of `each` cores there are in each domain."""
        return [part.bit_count() // each for part in parts_of(self.cores, self.domains)]


def workers_of(
    request: NodeRequest,
    allocation: Allocation,
    nodes: Sequence[ClusterNode] | Mapping[int, ClusterNode],
    *,
    granularity: str = divisions.NONE,
    affinity: Affinity | None = None,
) -> dict[int, tuple[TaskWorker, ...]]:
    """Return the task workers of a job by rank, ranks ascending; task numbers ascend in the same order.

    `nodes` are by rank, `granularity` and `affinity` those of the placement, which hold where the request
    says nothing (`Pool.workers_of` knows them). A worker's cores are of one domain wherever the allocation
    allows that.
    """
    shape = request.shape or TaskShape()
    wanted = shape.affinity or affinity or Affinity.NONE
    ranks = {
        rank: _Rank(cores, _slots(cores, request), domains_of(nodes[rank]))
        for rank, (cores, _) in sorted(allocation.items())
    }
    if shape.workers:
        sizes = _named(shape.workers, list(ranks.values()), request, wanted)
    else:
        sizes = [_chosen(rank, request, shape, granularity, wanted) for rank in ranks.values()]
    tasks = _tasks(shape.tasks, sizes)
    found = {}
    for (number, rank), slots in zip(ranks.items(), sizes, strict=True):
        cores = _cores_of(rank, slots, request.cores, wanted)
        found[number] = tuple(TaskWorker(each, tasks.pop(0)) for each in cores)
    return found


def _slots(cores: int, request: NodeRequest) -> int:
    if request.nodes:
        return request.slots
    return 1 if request.exclusive else cores.bit_count() // request.cores


def _tasks(tasks: int, sizes: Sequence[Sequence[int]]) -> list[int]:
    """Return how many of a job's tasks each worker has, by its slots; 0: one a slot."""
    slots = [each for here in sizes for each in here]
    each, more = divmod(tasks or sum(slots), sum(slots))
    found, before = [], 0
    for count in slots:
        found.append(count * each + max(0, min(before + count, more) - before))
        before += count
    return found


def _named(workers: int, ranks: Sequence[_Rank], request: NodeRequest, affinity: Affinity) -> list[list[int]]:
    """Return the slots of each worker by rank, where the request says how many workers there are."""
    slots = [rank.slots for rank in ranks]
    workers = min(max(workers, len(ranks)), sum(slots))
    if not (request.nodes or request.exclusive):
        if affinity is not Affinity.NONE:
            bins = [(index, part) for index, rank in enumerate(ranks) for part in rank.parts(request.cores)]
            if sum(part for _, part in bins) == sum(slots):
                whole = _whole([part for _, part in bins], workers)
                if whole is not None:
                    by_rank: list[list[int]] = [[] for _ in ranks]
                    for (index, _), sizes in zip(bins, whole, strict=True):
                        by_rank[index] += sizes
                    return by_rank
        whole = _whole(slots, workers)
        if whole is not None:
            return whole
    spare = workers - len(ranks)  # each rank has one, the others by its slots
    more = portions(spare, [count - 1 for count in slots]) if spare else [0] * len(ranks)
    return [distribute(count, min(1 + further, count)) for count, further in zip(slots, more, strict=True)]


def _whole(bins: Sequence[int], workers: int) -> list[list[int]] | None:
    """Return the workers of each bin, which they fill, none of them in two bins; None: there is no way."""
    sizes = distribute(sum(bins), workers)
    small, larges = sizes[-1], sum(size > sizes[-1] for size in sizes)
    found = pack(bins, small, larges, workers - larges)
    return None if found is None else [[small + 1] * each.large + [small] * each.small for each in found]


def _chosen(
    rank: _Rank, request: NodeRequest, shape: TaskShape, granularity: str, affinity: Affinity
) -> list[int]:
    """Return the slots of each worker on a rank, where the placement says how many there are."""
    kind = None if shape.profile is None else shape.profile.kind
    by_task = kind is ProfileKind.CPU and granularity in {divisions.GRANULARITY, divisions.PREDICTED}
    if by_task or (kind is ProfileKind.MEMORY and granularity == divisions.GRANULARITY):
        return [1] * rank.slots
    by_domain = affinity is Affinity.REQUIRED or (
        kind is ProfileKind.MEMORY and granularity == divisions.PREDICTED
    )
    parts = [part for part in rank.parts(request.cores) if part] if by_domain else []
    return _filled(parts, rank.slots) if sum(parts) >= rank.slots else [rank.slots]


def _filled(parts: Sequence[int], slots: int) -> list[int]:
    """Return the slots of a worker in each domain, of which the first ones are filled."""
    found, left = [], slots
    for part in parts:
        if left:
            found.append(min(part, left))
            left -= found[-1]
    return found


def _cores_of(rank: _Rank, sizes: Sequence[int], each: int, affinity: Affinity) -> list[int]:
    """Return the cores of each worker of a rank; together they are all of its cores that can be used."""
    parts = parts_of(rank.cores, rank.domains)
    indexes = _domains_for([part.bit_count() // each for part in parts], sizes)
    if indexes is None or (affinity is not Affinity.REQUIRED and len(set(indexes)) < len(parts)):
        return _across(rank.cores, parts, sizes)
    found = [0] * len(sizes)
    for index, part in enumerate(parts):
        members = [number for number, domain in enumerate(indexes) if domain == index]
        left = part
        if members:
            counts = portions(part.bit_count(), [sizes[number] for number in members])
            for number, count in zip(members, counts, strict=True):
                found[number] = lowest(left, count)
                left ^= found[number]
    return found


def _domains_for(parts: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """Return the domain of each worker, by the slots that are left in each; None: one fits into none."""
    left, found = list(parts), []
    for size in sizes:
        index = next((number for number, room in enumerate(left) if room >= size), None)
        if index is None:
            break
        left[index] -= size
        found.append(index)
    else:
        return found
    if max(sizes) - min(sizes) > 1:
        return None
    larges = sum(size > min(sizes) for size in sizes)
    packed = pack(parts, min(sizes), larges, len(sizes) - larges)
    if packed is None:
        return None
    large = [index for index, each in enumerate(packed) for _ in range(each.large)]
    small = [index for index, each in enumerate(packed) for _ in range(each.small)]
    return [(large if size > min(sizes) else small).pop(0) for size in sizes]


def _across(cores: int, parts: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return the cores of workers that do not all fit into domains: of the lowest with enough, else of
    several.
    """
    found, left = [], cores
    for count in portions(cores.bit_count(), sizes):
        enough = (part & left for part in parts if (part & left).bit_count() >= count)
        taken = lowest(next(enough, left), count)
        found.append(taken)
        left ^= taken
    return found


def floats(shape: TaskShape | None, of_instance: Affinity | None) -> bool:
    """Return whether tasks are bound to no cores: by the affinity `none`, or by default, profile `io`."""
    affinity = of_instance if shape is None or shape.affinity is None else shape.affinity
    if affinity is None and shape is not None and shape.profile is not None:
        return shape.profile.kind is ProfileKind.IO
    return affinity is Affinity.NONE
