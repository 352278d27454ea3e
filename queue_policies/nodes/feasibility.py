"""Whether a request can ever be satisfied, and how many cores count for a slot of an elastic one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.nodes.low_ranks import slots_on, whole_nodes_wanted
from queue_policies.nodes.obstacles import never_placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import ClusterNode, NodeRequest, RankResources


def infeasible(pool: Pool, request: NodeRequest) -> str | None:
    """Return why no state of the pool's nodes could satisfy the request, in Flux's words, or None."""
    return _too_little(pool, request) or never_placed(pool, request)


def _too_little(pool: Pool, request: NodeRequest) -> str | None:
    wholes = [(node.cores, node.gpus) for node in _matching(pool, request)]
    if request.exclusive:
        count, slots = whole_nodes_wanted(request)
        eligible = sum(slots_on(whole, request) >= slots for whole in wholes)
        if eligible < count:
            return f"unsatisfiable request: need {count} exclusive node(s), only {eligible} eligible"
        return None
    return _too_few_nodes(wholes, request) if request.nodes else _too_few_slots(wholes, request)


def counted_cores(pool: Pool, request: NodeRequest) -> int:
    """Return how many cores a slot of an elastic job counts: with whole nodes, all of a node's.

    Where nodes differ, the smallest that suits counts for each.
    """
    if not request.exclusive:
        return request.cores
    cores = (node.cores.bit_count() for node in _matching(pool, request))
    each = min((n for n in cores if n >= request.slots * request.cores), default=request.cores)
    return max(each // request.slots, request.cores)


def _matching(pool: Pool, request: NodeRequest) -> Sequence[ClusterNode]:
    return [pool.nodes[rank] for rank in pool.constraints.ranks(request.constraint)]


def _too_few_nodes(wholes: Sequence[RankResources], request: NodeRequest) -> str | None:
    eligible = sum(slots_on(whole, request) >= request.slots for whole in wholes)
    if eligible >= request.nodes:
        return None
    gpus = f" and {request.slots * request.gpus} GPUs" if request.gpus else ""
    return (
        f"unsatisfiable request: need {request.nodes} node(s) with {request.slots * request.cores} "
        f"cores{gpus} each, only {eligible} eligible"
    )


def _too_few_slots(wholes: Sequence[RankResources], request: NodeRequest) -> str | None:
    slots = sum(cores.bit_count() // request.cores for cores, _ in wholes)
    if slots < request.slots:
        total = sum(cores.bit_count() for cores, _ in wholes)
        return (
            f"unsatisfiable request: need {request.slots} slot(s) of {request.cores} core(s), only {slots} "
            f"such slot(s) available (total cores: {total})"
        )
    slots = sum(slots_on(whole, request) for whole in wholes)
    if slots < request.slots:
        total = sum(gpus.bit_count() for _, gpus in wholes)
        return (
            f"unsatisfiable request: need {request.slots} slot(s) with {request.gpus} GPU(s) each, only "
            f"{slots} available (total GPUs: {total})"
        )
    return None
