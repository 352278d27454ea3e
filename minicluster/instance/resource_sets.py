"""The resources of an instance that are up, free and drained: sums and differences of R (RFC 20)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import idset, resource_set
from minicluster.broker_link import burst_ranks
from minicluster.instance.records import Drain, QueueResources, Resources, ResourceSubset

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from broker_config.formats.resource_set import Allocation, Node


class Inventory(NamedTuple):
    """All that an instance has."""

    nodes: Mapping[int, Node]
    """By rank."""

    @property
    def whole(self) -> Allocation:
        """Return all cores and GPUs."""
        return {rank: (node.cores, node.gpus) for rank, node in self.nodes.items()}

    def summary(self, part: Allocation) -> ResourceSubset:
        """Count a part of it; a rank without a core or GPU in the part does not count."""
        ranks = tuple(sorted(rank for rank, bits in part.items() if any(bits)))
        hosts = tuple(self.nodes[rank].host if rank in self.nodes else "" for rank in ranks)
        cores = sum(idset.size_of(part[rank][0]) for rank in ranks)
        return ResourceSubset(ranks, hosts, cores, sum(idset.size_of(part[rank][1]) for rank in ranks))


def minus(whole: Allocation, part: Allocation) -> Allocation:
    """Return what of `whole` is not in `part`."""
    nothing = (0, 0)
    return {
        rank: (cores & ~part.get(rank, nothing)[0], gpus & ~part.get(rank, nothing)[1])
        for rank, (cores, gpus) in whole.items()
    }


def only(whole: Allocation, ranks: Iterable[int]) -> Allocation:
    """Return what `whole` has on these ranks."""
    return {rank: whole[rank] for rank in ranks if rank in whole}


def resources(
    sched: Mapping[str, Any], status: Mapping[str, Any], ranks: Container[int] | None = None
) -> Resources:
    """Return the records for the answers to `resource.sched-status` and `resource.status`.

    `ranks` are those that count; None: all do.
    """
    nodes = resource_set.nodes_of(sched["all"])
    inventory = Inventory({node.rank: node for node in nodes if ranks is None or node.rank in ranks})
    down, allocated = (
        only(resource_set.allocation_of(sched[part]), inventory.nodes) for part in ("down", "allocated")
    )
    everything, summary = inventory.whole, inventory.summary
    up = minus(everything, down)
    drains = tuple(
        Drain(ranks, info["timestamp"], info.get("reason", "")) for ranks, info in status["drain"].items()
    )
    drained = [rank for drain in drains for rank in idset.decode(drain.ranks)]
    return Resources(
        all=summary(everything),
        up=summary(up),
        down=summary(down),
        free=summary(minus(up, allocated)),
        allocated=summary(allocated),
        drained=summary(only(everything, drained)),
        offline=summary(only(everything, idset.decode(status["offline"]))),
        drains=drains,
    )


def by_queue(sched: Mapping[str, Any], status: Mapping[str, Any]) -> QueueResources:
    """Return the same by queue: those of the instance's own hosts, and of each slot for bursts."""
    properties = {node.rank: node.properties for node in resource_set.nodes_of(sched["all"])}
    bursts = burst_ranks.of_nodes(properties)
    own = properties.keys() - bursts.ranks
    return QueueResources(
        resources(sched, status, own),
        {
            queue: resources(sched, status, [rank for rank in bursts.ranks if queue in properties[rank]])
            for queue in bursts.queues
        },
    )
