"""What is free on a node and in each of its NUMA domains, and what running jobs demand there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.nodes.domains import domains_of
from queue_policies.placement.records import ProfileKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.nodes.records import ClusterNode, RankResources
    from queue_policies.placement.protocol import NodeJob
    from queue_policies.placement.records import Profile


class Domain(NamedTuple):
    """A domain with a free core. The order is that in which memory-bound tasks take them."""

    demand: float
    """Of bandwidth, by the jobs that run there."""
    busy: int
    """The number of its free cores, negative: the emptiest domain comes first."""
    rank: int
    number: int
    """Of the domain on its node."""
    free: int
    """Bits of the free cores."""
    whole: bool
    """Whether all of its cores are free."""


class NodeLoad(NamedTuple):
    """A node."""

    rank: int
    free: int
    """How many cores are free."""
    cores: int
    """How many cores it has."""
    has_io: bool
    """Whether a job that does much input and output runs on it."""
    domains: tuple[Domain, ...]
    """Those with a free core."""


def load_of(
    node: ClusterNode,
    free: RankResources,
    jobs: Sequence[NodeJob],
    demand: Callable[[Profile | None], float],
) -> NodeLoad:
    """Return the load of a node. `demand` returns the bandwidth that one core of a job demands."""
    demands = [(cores, each) for _, cores, profile in jobs if (each := demand(profile))]
    found = []
    for number, domain in enumerate(domains_of(node)):
        left = free[0] & domain
        if left:
            inside = sum([(cores & domain).bit_count() * each for cores, each in demands], 0.0)
            found.append(Domain(inside, -left.bit_count(), node.rank, number, left, left == domain))
    has_io = any(profile is not None and profile.kind is ProfileKind.IO for _, _, profile in jobs)
    return NodeLoad(node.rank, free[0].bit_count(), node.cores.bit_count(), has_io, tuple(found))
