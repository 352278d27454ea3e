"""Divides allocations into the slots of workers, and joins them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.records import NOTHING, Slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queue_policies.nodes.records import Allocation, NodeRequest, RankResources


def slots_of(allocation: Allocation, request: NodeRequest) -> list[Slot]:
    """Return the slot of each worker, ranks ascending: all of its node, or a slot's cores and GPUs."""
    found = []
    for rank, resources in sorted(allocation.items()):
        if request.nodes or request.exclusive:
            found.append(Slot(rank, resources))
        else:
            found += [Slot(rank, part) for part in _parts(resources, request)]
    return found


def allocation_of(slots: Iterable[Slot]) -> Allocation:
    """Return what some workers hold together."""
    found: Allocation = {}
    for slot in slots:
        cores, gpus = found.get(slot.rank, NOTHING)
        found[slot.rank] = (cores | slot.resources[0], gpus | slot.resources[1])
    return found


def _parts(resources: RankResources, request: NodeRequest) -> list[RankResources]:
    cores, gpus = list(ids(resources[0])), list(ids(resources[1]))
    return [
        (
            _bits(cores[number * request.cores : (number + 1) * request.cores]),
            _bits(gpus[number * request.gpus : (number + 1) * request.gpus]),
        )
        for number in range(len(cores) // request.cores)
    ]


def ids(bits: int) -> Iterator[int]:
    """Return the numbers of the bits that are set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def highest(bits: int, count: int) -> int:
    """Return the highest bits that are set."""
    rest = bits
    for _ in range(bits.bit_count() - count):
        rest &= rest - 1
    return rest


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)
