"""Placement: low ranks are filled first, and on each rank the lowest cores and GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, NodeRequest, RankResources

    Free = Callable[[int], RankResources]


def place(
    request: NodeRequest, ranks: Iterable[int], free: Free, nodes: Sequence[ClusterNode]
) -> Allocation | None:
    """Return an allocation for the request, from these ranks in this order; None if it does not fit.

    `free` returns what is free on a rank.
    """
    if request.exclusive:
        return _whole_nodes(request, ranks, free, nodes)
    if request.nodes:
        return _nodes(request, ranks, free)
    return _slots(request, ranks, free)


def whole_nodes_wanted(request: NodeRequest) -> tuple[int, int]:
    """Return how many whole nodes an exclusive request takes, and with how many slots each at least.

    A request that names no number of nodes takes one for each slot.
    """
    return (request.nodes, request.slots) if request.nodes else (request.slots, 1)


def slots_on(resources: RankResources, request: NodeRequest) -> int:
    """Return how many of the request's slots these cores and GPUs are enough for."""
    cores, gpus = resources
    slots = cores.bit_count() // request.cores
    return min(slots, gpus.bit_count() // request.gpus) if request.gpus else slots


def _whole_nodes(
    request: NodeRequest, ranks: Iterable[int], free: Free, nodes: Sequence[ClusterNode]
) -> Allocation | None:
    count, slots = whole_nodes_wanted(request)
    found: Allocation = {}
    for rank in ranks:
        node = nodes[rank]
        whole = (node.cores, node.gpus)
        if free(rank) == whole and slots_on(whole, request) >= slots:
            found[rank] = whole
            if len(found) == count:
                return found
    return None


def _nodes(request: NodeRequest, ranks: Iterable[int], free: Free) -> Allocation | None:
    found: Allocation = {}
    for rank in ranks:
        resources = free(rank)
        if slots_on(resources, request) >= request.slots:
            found[rank] = _cut(resources, request, request.slots)
            if len(found) == request.nodes:
                return found
    return None


def _slots(request: NodeRequest, ranks: Iterable[int], free: Free) -> Allocation | None:
    found: Allocation = {}
    missing = request.slots
    for rank in ranks:
        resources = free(rank)
        slots = min(slots_on(resources, request), missing)
        if slots:
            found[rank] = _cut(resources, request, slots)
            missing -= slots
            if not missing:
                return found
    return None


def _cut(resources: RankResources, request: NodeRequest, slots: int) -> RankResources:
    """Return the lowest cores and GPUs for some slots."""
    return _lowest(resources[0], slots * request.cores), _lowest(resources[1], slots * request.gpus)


def _lowest(bits: int, count: int) -> int:
    rest = bits
    for _ in range(count):
        rest &= rest - 1
    return bits ^ rest
