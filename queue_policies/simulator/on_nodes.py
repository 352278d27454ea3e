"""Puts a workload on nodes, or under another placement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from queue_policies.simulator.domain_contention import DomainContention
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.node_cluster import alike, domains_of_all

if TYPE_CHECKING:
    from queue_policies.placement.protocol import Placement
    from queue_policies.simulator.workload import Workload


@dataclass(frozen=True, slots=True)
class AlikeNodes:
    """So many nodes with so many cores; 0 is what the workload has."""

    count: int = 0
    domains: int = 0
    """Of a node."""
    cores: int = 0
    """Of a domain."""


def on_nodes(workload: Workload, nodes: AlikeNodes, placement: Placement | None) -> Workload:
    """Return the workload on other nodes, under another placement; None: its own.

    Raises WorkloadError where it has no nodes of its own, and not all that is needed is given.
    """
    if nodes != AlikeNodes():
        workload = _on(workload, nodes)
    if placement is None:
        return workload
    if not workload.nodes:
        raise WorkloadError(
            f"{workload.name}: its units are only counted, so there is nothing to choose; --nodes and --cores"
            " say on which nodes it runs"
        )
    return replace(workload, placement=placement)


def _on(workload: Workload, nodes: AlikeNodes) -> Workload:
    own = AlikeNodes()
    if workload.nodes:
        first = workload.nodes[0]
        parts = len(first.domains) or 1
        own = AlikeNodes(len(workload.nodes), parts, first.cores.bit_count() // parts)
    count, domains, cores = (
        nodes.count or own.count,
        nodes.domains or own.domains or 1,
        nodes.cores or own.cores,
    )
    if not count or not cores:
        missing = "--cores" if count else "--nodes"
        raise WorkloadError(f"{workload.name}: has no nodes of its own; {missing} is missing")
    made = alike(count, domains, cores)
    model = workload.contention
    if isinstance(model, DomainContention):
        model = replace(model, domains=domains_of_all(made))
    return replace(workload, nodes=made, total=count * domains * cores, contention=model)
