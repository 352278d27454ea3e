"""Sums and differences of resource sets (RFC 20), to tell what is up, free and drained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_config import hostlist, idset
from minicluster.instance.records import Drain, Resources, ResourceSet

Units = frozenset[tuple[str, int]]
"""What one rank offers: ("core", 0), ("core", 1), ("gpu", 0)."""
ByRank = Mapping[int, Units]


@dataclass(frozen=True, slots=True)
class Inventory:
    """Every rank's host, to name the hosts of any part."""

    hosts: Mapping[int, str]

    def summary(self, part: ByRank) -> ResourceSet:
        """Count `part`; a rank of which nothing is left is not in it."""
        ranks = tuple(sorted(rank for rank, units in part.items() if units))
        kinds = [kind for units in part.values() for kind, _ in units]
        hosts = tuple(self.hosts.get(rank, "") for rank in ranks)
        return ResourceSet(ranks, hosts, kinds.count("core"), kinds.count("gpu"))


def units(r: Mapping[str, Any]) -> dict[int, Units]:
    """What an R offers on each rank."""
    found: dict[int, Units] = {}
    for entry in r["execution"]["R_lite"]:
        children = entry.get("children", {})
        offered = frozenset((kind, index) for kind, ids in children.items() for index in idset.decode(ids))
        for rank in idset.decode(str(entry["rank"])):
            found[rank] = found.get(rank, frozenset()) | offered
    return found


def hosts(r: Mapping[str, Any]) -> dict[int, str]:
    """The host of each rank of an R: its nodelist names them in the order of the ranks."""
    names = [name for text in r["execution"].get("nodelist", ()) for name in hostlist.decode(text)]
    return dict(zip(sorted(units(r)), names, strict=False))


def minus(whole: ByRank, part: ByRank) -> dict[int, Units]:
    """What of `whole` is not in `part`."""
    return {rank: have - part.get(rank, frozenset()) for rank, have in whole.items()}


def only(whole: ByRank, ranks: Iterable[int]) -> dict[int, Units]:
    """The share of `ranks`."""
    return {rank: whole[rank] for rank in ranks if rank in whole}


def resources(sched: Mapping[str, Any], status: Mapping[str, Any]) -> Resources:
    """From the answers to `resource.sched-status` and `resource.status`."""
    everything, down, allocated = units(sched["all"]), units(sched["down"]), units(sched["allocated"])
    summary = Inventory(hosts(sched["all"])).summary
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
