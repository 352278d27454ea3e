"""Asks a placement, and checks what it returns: the impossible is a defect that names it and the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.errors import PlacementDefect
from queue_policies.frames import last_frames
from queue_policies.nodes.low_ranks import slots_on, whole_nodes_wanted
from queue_policies.nodes.slots import ids
from queue_policies.placement.protocol import PlacementAsk
from queue_policies.placement.records import Affinity, ProfileKind, TaskShape

if TYPE_CHECKING:
    from queue_policies.nodes.records import Allocation, NodeRequest
    from queue_policies.placement.protocol import Placement, PlacementView
    from queue_policies.placement.records import Profile
    from queue_policies.records import Request

_UNKNOWN = TaskShape()
LOW_RANK = "low-rank"
"""The placement that is the default."""


def ask_of(request: NodeRequest, placement: Placement) -> PlacementAsk:
    """Return what a placement is given for a request."""
    shape = request.shape or _UNKNOWN
    affinity = affinity_of(request.shape, placement)
    slots = max(request.nodes, 1) * request.slots
    workers = min(shape.workers, slots)
    return PlacementAsk(request, shape.profile, shape.tasks or slots, workers, affinity)


def affinity_of(shape: TaskShape | None, placement: Placement | None) -> Affinity:
    """Return how a job's cores go with domains: tasks that do much input and output are not pinned."""
    if shape is not None:
        if shape.profile is not None and shape.profile.kind is ProfileKind.IO:
            return Affinity.NONE
        if shape.affinity is not None:
            return shape.affinity
    return Affinity(getattr(placement, "affinity", Affinity.NONE.value))


def profile_of(request: Request) -> Profile | None:
    """Return the profile of a request's tasks; None: unknown."""
    shape: TaskShape | None = getattr(request, "shape", None)
    return None if shape is None else shape.profile


def is_plain(placement: Placement | None) -> bool:
    """Return whether a placement fills low ranks first, whatever it is asked for."""
    return placement is None or (placement.name == LOW_RANK and getattr(placement, "affinity", "") == "none")


def found(placement: Placement, request: NodeRequest, nodes: PlacementView) -> Allocation | None:
    """Return the placement's allocation for a request. Raises PlacementDefect."""
    try:
        allocation = placement.place(ask_of(request, placement), nodes)
    except Exception as error:
        what = f"failed: {type(error).__name__}: {error}{last_frames(error)}"
        raise PlacementDefect(f"placement {placement.name} {what}; {_described(request, nodes)}") from error
    if allocation is None:
        return None
    wrong = fault(request, allocation, nodes)
    if wrong:
        raise PlacementDefect(f"placement {placement.name} {wrong}; {_described(request, nodes)}")
    return allocation


def goes_onto_one_node(request: NodeRequest, placement: Placement) -> bool:
    """Return whether all of a request goes onto one node, as long as one is large enough (Algorithm 1).

    Of a placement whose attribute `granularity` divides jobs: one worker, or those that use the network most.
    """
    if request.nodes or request.exclusive or getattr(placement, "granularity", "none") == "none":
        return False
    ask = ask_of(request, placement)
    network = ask.profile is not None and ask.profile.kind is ProfileKind.NETWORK
    return ask.workers == 1 or (network and not ask.workers)


def divides(request: NodeRequest, placement: Placement) -> bool:
    """Return whether a request fits wherever there are enough slots: the placement says so."""
    rule = getattr(placement, "divides", None)
    return rule is not None and rule(ask_of(request, placement))


def of_job(defect: PlacementDefect, job: int) -> PlacementDefect:
    """Return the same defect with the job in it."""
    return PlacementDefect(f"{defect}; it is job {job}")


def fault(request: NodeRequest, allocation: Allocation, nodes: PlacementView) -> str:
    """Return what is wrong with an allocation for a request; empty: nothing."""
    if not isinstance(allocation, dict):
        return f"returns {allocation!r}, which is no allocation by rank"
    usable = set(nodes.ranks)
    slots = []
    for rank, resources in allocation.items():
        if rank not in usable:
            return f"returns rank {rank}, which this request may not use"
        free = nodes.free(rank)
        for kind, taken, there in zip(("core", "GPU"), resources, free, strict=True):
            if taken & ~there:
                return f"returns {kind} {next(ids(taken & ~there))} of rank {rank}, which is not free"
        if request.exclusive and resources != (nodes.nodes[rank].cores, nodes.nodes[rank].gpus):
            return f"returns a part of rank {rank} for a request for whole nodes"
        slots.append(slots_on(resources, request))
        exact = (slots[-1] * request.cores, slots[-1] * request.gpus)
        if not request.exclusive and (resources[0].bit_count(), resources[1].bit_count()) != exact:
            return f"returns cores and GPUs of rank {rank} that are no whole slots"
    return _wrong_count(request, slots)


def _wrong_count(request: NodeRequest, slots: list[int]) -> str:
    if not (request.nodes or request.exclusive):
        wrong = sum(slots) != request.slots or 0 in slots
        return f"returns {sum(slots)} slots where {request.slots} are requested" if wrong else ""
    count, each = whole_nodes_wanted(request) if request.exclusive else (request.nodes, request.slots)
    if len(slots) != count:
        return f"returns {len(slots)} nodes where {count} are requested"
    wrong = any(number < each or (number > each and not request.exclusive) for number in slots)
    return f"returns nodes with {slots} slots where each has {each}" if wrong else ""


def _described(request: NodeRequest, nodes: PlacementView) -> str:
    free = sum(nodes.free(rank)[0].bit_count() for rank in nodes.ranks)
    kind = f" on {request.nodes} node(s)" if request.nodes else ""
    usable = f"{len(nodes.ranks)} rank(s) that it may use"
    return f"for a job of {request.size} core(s){kind}, with {free} core(s) free on {usable}"
