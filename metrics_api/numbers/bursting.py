"""Divides a snapshot into what an autoscaler decides on, and what bursts bring.

A MiniCluster grows by its own ranks alone. So jobs that wait for a burst demand nothing of it, and those that
run on a burst's nodes keep none of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from metrics_api.numbers.records import Counts
from minicluster.broker_link import burst_ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from metrics_api.numbers.records import AllocatedJob, NodeState, Snapshot
    from minicluster.broker_link.burst_ranks import BurstRanks


class NodeParts(NamedTuple):
    """The nodes of an instance, divided."""

    local: tuple[NodeState, ...]
    burst: tuple[NodeState, ...]
    """Of all slots."""
    queues: frozenset[str]
    """The queues whose jobs run there."""


class SnapshotParts(NamedTuple):
    """A snapshot, divided."""

    local: Snapshot
    """The MiniCluster's own nodes, with the jobs that are there or could be."""
    burst: Snapshot | None
    """The slots' nodes, with the jobs of their queues; None: there are no slots."""
    queues: frozenset[str]
    """The queues of these jobs."""


@lru_cache(maxsize=4)
def node_parts(nodes: tuple[NodeState, ...]) -> NodeParts:
    """Return the parts of these nodes: the same object for equal nodes."""
    found: BurstRanks = burst_ranks.of_nodes({node.rank: node.properties for node in nodes})
    if not found.ranks:
        return NodeParts(nodes, (), found.queues)
    local = tuple(node for node in nodes if node.rank not in found.ranks)
    burst = tuple(node for node in nodes if node.rank in found.ranks)
    return NodeParts(local, burst, found.queues)


def divided(snapshot: Snapshot) -> SnapshotParts:
    """Return the parts of a snapshot. Without slots the local part is the snapshot itself."""
    nodes = node_parts(snapshot.nodes)
    if not nodes.burst:
        return SnapshotParts(snapshot, None, nodes.queues)
    own, others = (frozenset(node.rank for node in part) for part in (nodes.local, nodes.burst))
    maximum = min(snapshot.maximum, len(nodes.local))
    local = replace(
        snapshot,
        nodes=nodes.local,
        minimum=min(snapshot.minimum, maximum),
        maximum=maximum,
        pending=tuple(each for each in snapshot.pending if each.queue not in nodes.queues),
        running=tuple(_on(snapshot, own)),
        counts=_without(snapshot.counts, nodes.queues),
    )
    burst = replace(
        snapshot,
        nodes=nodes.burst,
        minimum=0,
        maximum=len(nodes.burst),
        pending=tuple(each for each in snapshot.pending if each.queue in nodes.queues),
        running=tuple(_on(snapshot, others)),
        counts=Counts(_sums(snapshot.counts, nodes.queues), _of(snapshot.counts, nodes.queues)),
    )
    return SnapshotParts(local, burst, nodes.queues)


def _on(snapshot: Snapshot, ranks: frozenset[int]) -> Iterator[AllocatedJob]:
    """Yield the jobs on these ranks, with what they have there."""
    for job in snapshot.running:
        there = tuple(each for each in job.allocation if each[0] in ranks)
        if len(there) == len(job.allocation):
            yield job
        elif there:
            yield replace(job, allocation=there)


def _without(counts: Counts, queues: frozenset[str]) -> Counts:
    """Return counts without the jobs of these queues; one count may be a moment older than another."""
    taken = _sums(counts, queues)
    states = {state: max(0, number - taken.get(state, 0)) for state, number in counts.states.items()}
    return Counts(states, {name: each for name, each in counts.queues.items() if name not in queues})


def _of(counts: Counts, queues: frozenset[str]) -> Mapping[str, Mapping[str, int]]:
    return {name: each for name, each in counts.queues.items() if name in queues}


def _sums(counts: Counts, queues: frozenset[str]) -> Mapping[str, int]:
    """Return how many jobs of these queues are in each state."""
    found: dict[str, int] = {}
    for each in _of(counts, queues).values():
        for state, number in each.items():
            found[state] = found.get(state, 0) + number
    return found
