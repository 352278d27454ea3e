"""A job's size in Flux's listings: the requested one before the allocation, then the allocated one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import hostlist, idset, resource_set

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias  # novm - for type checkers alone

    from broker_config.formats.jobspec import RequestedResources

JSON: TypeAlias = "dict[str, Any]"


def requested(asked: RequestedResources) -> JSON:
    """Return `ncores` and `nnodes`, as far as they are known: whole nodes have any number of cores."""
    shown: JSON = {} if asked.exclusive else {"ncores": asked.size}
    if asked.nodes:
        shown["nnodes"] = asked.nodes
    return shown


def allocated(resources: JSON) -> JSON:
    """Return what listings have of an R (RFC 20). Raises ResourceSetError."""
    allocation = resource_set.allocation_of(resources)
    return {
        "ncores": sum(idset.size_of(cores) for cores, _gpus in allocation.values()),
        "nnodes": len(allocation),
        "ranks": idset.bracketed(allocation),
        "nodelist": resource_set.hostlist_of(resources),
        "expiration": resource_set.times_of(resources).expiration,
    }


def normalized(resources: JSON) -> JSON:
    """Return the same with the hosts in the form of real Flux's listings. Raises ParseError."""
    size = allocated(resources)
    return {**size, "nodelist": hostlist.encode(hostlist.decode(size["nodelist"]))}


def tasks(count: int, tasks_per: tuple[str, int] | None, size: Mapping[str, Any]) -> int:
    """Return the number of tasks, from tasks per node or core where the job asks for them so."""
    if tasks_per is None:
        return count
    kind, each = tasks_per
    return int(size.get(f"n{kind}s", 0)) * each or count


def updated(resources: JSON, changes: Mapping[str, Any]) -> JSON:
    """Return an R after the event `resource-update` of real Flux, which has a new expiration."""
    if "expiration" not in changes:
        return resources
    return {**resources, "execution": {**resources["execution"], "expiration": changes["expiration"]}}
