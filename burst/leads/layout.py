"""The nodes of a lead's instance, as its R has them: the MiniCluster's own, and those of its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import constraints
from broker_config.formats.burst_names import LOCAL
from burst.leads.slot_ranks import SlotRanks
from queue_policies.nodes.feasibility import infeasible
from queue_policies.nodes.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_config.formats.jobspec import RequestedResources
    from broker_config.formats.resource_set import ResourceSet


class LeadLayout(NamedTuple):
    """Who has which ranks."""

    own: Pool
    """At the MiniCluster's largest size."""
    slots: Mapping[str, SlotRanks]
    """By name."""

    def fits_here(self, request: RequestedResources) -> bool:
        """Return whether the MiniCluster's own nodes can run a job, once they are all there and free."""
        return infeasible(self.own, request) is None


def of_resource_set(resources: ResourceSet, names: Iterable[str]) -> LeadLayout:
    """Return the layout of an R, with those of the named slots whose ranks follow each other.

    Without slots all nodes are the MiniCluster's own, and have no properties.
    """
    names = tuple(names)
    own = [node for node in resources.nodes if LOCAL in node.properties or not names]
    slots = {}
    by_rank = {node.rank: node for node in resources.nodes}
    for name in names:
        ranks = resources.properties.get(name, ())
        if not ranks or ranks != tuple(range(ranks[0], ranks[0] + len(ranks))):
            continue
        nodes = [by_rank[rank] for rank in ranks]
        cores = min(node.cores.bit_count() for node in nodes)
        slots[name] = SlotRanks(ranks[0], len(ranks), cores, min(node.gpus.bit_count() for node in nodes))
    return LeadLayout(Pool(own, constraints.matches), slots)
