"""Small clusters with NUMA domains, and requests with shapes, for the tests of placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node
from queue_policies.nodes.pool import Pool
from queue_policies.placement.plugins import load
from queue_policies.placement.records import Affinity, Profile, ProfileKind, TaskShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.placement.protocol import Placement


def node(rank: int, domains: Sequence[int], gpus: int = 0) -> Node:
    """A node whose domains have so many cores each."""
    bits, first = [], 0
    for count in domains:
        bits.append(((1 << count) - 1) << first)
        first += count
    return Node(rank, f"node{rank}", (1 << first) - 1, (1 << gpus) - 1, frozenset(), tuple(bits))


def pool(placement: Placement | None, nodes: Sequence[Node]) -> Pool:
    """All of these nodes, up."""
    made = Pool(nodes, matches, placement)
    for rank in range(len(nodes)):
        made.mark(rank, up=True)
    return made


def paper_cluster(name: str, **settings: object) -> Pool:
    """The paper's: four nodes of two domains with 16 cores each."""
    return pool(load(name, settings), [node(rank, (16, 16)) for rank in range(4)])


def request(
    slots: int,
    kind: str = "",
    *,
    workers: int = 0,
    tasks: int = 0,
    cores: int = 1,
    nodes: int = 0,
    affinity: Affinity | None = None,
) -> RequestedResources:
    """So many slots; `kind` is their profile's."""
    profile = Profile(ProfileKind(kind)) if kind else None
    shape = TaskShape(profile, tasks, workers, affinity)
    return RequestedResources(nodes, slots, cores, 0, shape=shape)
