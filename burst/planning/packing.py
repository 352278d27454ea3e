"""How many nodes some jobs need to be done in time: list scheduling by their time limits."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_config.formats.jobspec import RequestedResources
    from burst.planning.records import NodeShape


class PackedJob(NamedTuple):
    """A job as it is packed."""

    nodes: int
    seconds: float


def nodes_of(request: RequestedResources, shape: NodeShape) -> int | None:
    """Return how many nodes of a shape a request takes; None if no number of them is enough."""
    slots = request.slots if request.nodes else 1
    room = [shape.cores // request.cores] if request.cores else []
    room += [shape.gpus // request.gpus] if request.gpus else []
    each = min(room, default=slots)
    if each < slots:
        return None
    return request.nodes or -(-request.slots // each)


def makespan(tasks: Sequence[PackedJob], nodes: int) -> float:
    """Return when the last of them ends, each started in turn as soon as it has its nodes.

    In this order none ends later because another one ends sooner. Raises ValueError for one that is larger.
    """
    ends, free, now, last = list[tuple[float, int]](), nodes, 0.0, 0.0
    for task in tasks:
        if task.nodes > nodes:
            raise ValueError(f"a job of {task.nodes} nodes on {nodes}")
        while free < task.nodes:
            now, freed = heapq.heappop(ends)
            free += freed
        free -= task.nodes
        heapq.heappush(ends, (now + task.seconds, task.nodes))
        last = max(last, now + task.seconds)
    return last


def least_nodes(tasks: Sequence[PackedJob], most: int, window: float) -> int | None:
    """Return the least number of nodes on which all end within the window; None if `most` are too few."""
    first = max((task.nodes for task in tasks), default=0)
    work = sum(task.nodes * task.seconds for task in tasks)
    first = max(first, int(work // window)) if window > 0 else most + 1
    for nodes in range(max(first, 1), most + 1):
        if makespan(tasks, nodes) <= window:
            return nodes
    return None
