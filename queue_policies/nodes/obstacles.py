"""Why a placement has no room for a request, now or ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.errors import PlacementDefect
from queue_policies.nodes import placing
from queue_policies.nodes.domains import domains_of
from queue_policies.nodes.low_ranks import whole_nodes_wanted
from queue_policies.nodes.occupancy import Occupancy, PresentNodes
from queue_policies.placement.records import Affinity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import NodeRequest
    from queue_policies.placement.protocol import PlacementAsk


def never_placed(pool: Pool, request: NodeRequest) -> str | None:
    """Return why a worker of this request fits nowhere, even if all nodes were free; None: it fits.

    So it does with a placement that has a defect: the job is queued, and the next decision reports that.
    """
    if pool.placement is None:
        return None
    ask = placing.ask_of(request, pool.placement)
    ranks = pool.constraints.ranks(request.constraint)
    wholes = [(node.cores, node.gpus) for node in pool.nodes]
    needed, (where, largest) = largest_worker(ask), _largest(pool, ask, ranks, [cores for cores, _ in wholes])
    if needed > largest:
        worker = f"a worker of {needed} core(s) does not fit into a {where}"
        return f"unsatisfiable request: {worker}; the largest has {largest}"
    view = PresentNodes(pool.nodes, ranks, Occupancy(pool.nodes, wholes))
    try:
        if placing.found(pool.placement, request, view) is not None:
            return None
    except PlacementDefect:
        return None
    return f"unsatisfiable request: placement {pool.placement.name} has no room for it even on free nodes"


def obstacle(pool: Pool, request: NodeRequest) -> str:
    """Return why a request waits although enough cores are free, for users; empty where it does not.

    Raises PlacementDefect.
    """
    if pool.placement is None or request.size > pool.free or pool.fits(request):
        return ""
    ask = placing.ask_of(request, pool.placement)
    ranks = [rank for rank in pool.constraints.ranks(request.constraint) if rank in pool.usable]
    needed = largest_worker(ask)
    where, most = _largest(pool, ask, ranks, [cores for cores, _ in pool.rank_resources])
    if needed > most:
        return f"waits for a {where} with {needed} free core(s) for a worker; the most is {most}"
    return f"waits for nodes: {pool.free} cores are free, not as placement {pool.placement.name} needs them"


def largest_worker(ask: PlacementAsk) -> int:
    """Return how many cores the largest worker of a request has; where none are named, a slot."""
    request = ask.request
    if not ask.workers:
        return request.cores
    count, slots = 1, request.slots
    if request.exclusive or request.nodes:
        count, slots = whole_nodes_wanted(request) if request.exclusive else (request.nodes, request.slots)
    workers = min(max(ask.workers // count, 1), slots)
    return -(-slots // workers) * request.cores


def _largest(pool: Pool, ask: PlacementAsk, ranks: Iterable[int], cores: list[int]) -> tuple[str, int]:
    """Return in what a worker must be in one piece, and the most of these cores (bits by rank) in one."""
    if ask.affinity is not Affinity.REQUIRED:
        return "node", max((cores[rank].bit_count() for rank in ranks), default=0)
    parts = (cores[rank] & domain for rank in ranks for domain in domains_of(pool.nodes[rank]))
    return "domain", max((part.bit_count() for part in parts), default=0)
