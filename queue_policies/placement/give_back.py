"""Which workers a malleable job best gives back when it shrinks: those that free whole domains first.

The program decides; it is given this order as a preference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.domains import domains_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from queue_policies.nodes.records import ClusterNode, RankResources, Slot

    DomainOfRank = tuple[int, int]
    """A rank, and the index of one of its domains."""


def preferred(
    slots: Mapping[int, Slot],
    count: int,
    firm: int,
    nodes: Sequence[ClusterNode],
    free: Sequence[RankResources],
) -> tuple[int, ...]:
    """Return the workers that may leave, in the order in which they best do if `count` of them leave.

    `slots` are by the workers' numbers, of which those below `firm` stay; `free` is what is free on each
    rank. First come domains that become free altogether, the largest that `count` is enough for. Then those
    with the fewest workers, so that others stay whole. Ties go to high ranks and numbers.
    """
    groups: dict[DomainOfRank, list[int]] = {}
    for worker in sorted(slots, reverse=True):
        groups.setdefault(_domain_of(slots[worker], nodes), []).append(worker)
    whole = {key for key, workers in groups.items() if min(workers) >= firm}
    whole = {key for key in whole if _becomes_free(key, [slots[each] for each in groups[key]], nodes, free)}
    leaving = {key: [each for each in workers if each >= firm] for key, workers in groups.items()}
    left = {key: workers for key, workers in leaving.items() if workers}
    order: list[int] = []
    while left:
        order += left.pop(_next(left, whole, count - len(order)))
    return tuple(order)


def _next(
    left: Mapping[DomainOfRank, Sequence[int]], whole: Collection[DomainOfRank], count: int
) -> DomainOfRank:
    """Return the domain whose workers best leave next, where so many more are to leave."""
    fit = [key for key, workers in left.items() if key in whole and len(workers) <= count]
    if fit:
        return max(fit, key=lambda key: (len(left[key]), key))
    return max(left, key=lambda key: (-len(left[key]), key))


def _domain_of(slot: Slot, nodes: Sequence[ClusterNode]) -> DomainOfRank:
    """Return where most of a slot's cores are."""
    counts = [(slot.resources[0] & domain).bit_count() for domain in domains_of(nodes[slot.rank])]
    return slot.rank, counts.index(max(counts))


def _becomes_free(
    key: DomainOfRank,
    slots: Sequence[Slot],
    nodes: Sequence[ClusterNode],
    free: Sequence[RankResources],
) -> bool:
    rank, index = key
    given = free[rank][0]
    for slot in slots:
        given |= slot.resources[0]
    return not domains_of(nodes[rank])[index] & ~given
