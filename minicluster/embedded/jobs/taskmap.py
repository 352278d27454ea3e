"""Which task runs where: a jobspec (RFC 25) and its R (RFC 20) laid out as Flux's shell does it.

Tasks go to the largest nodes first, one at a time in rounds over the nodes. They are numbered in blocks, node
by node (RFC 34 block map).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from broker_config.formats import resource_set
from broker_config.formats.idset import ids_of
from broker_config.formats.jobspec import cores_per_slot, shell_options, task_count
from minicluster.embedded.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeTasks:
    """The tasks of a job on one broker."""

    rank: int
    host: str
    tasks: tuple[int, ...]
    """The tasks' ranks in the job."""
    cores: tuple[int, ...]
    """Ids, as in R."""
    gpus: tuple[int, ...]
    """Ids, as in R."""


def nodes_of(resources: Mapping[str, Any]) -> list[NodeTasks]:
    """Return the nodes of R by rising rank, without tasks."""
    try:
        nodes = resource_set.nodes_of(resources)
    except ValueError as error:
        raise LayoutError(f"R must have one host a rank: {error}") from None
    return [NodeTasks(n.rank, n.host, (), ids_of(n.cores), ids_of(n.gpus)) for n in nodes]


def layout(jobspec: JSON, resources: JSON) -> list[NodeTasks]:
    """Return the nodes of R with their tasks."""
    nodes = nodes_of(resources)
    counts = _counts(jobspec, resources, nodes)
    if sum(counts) == 0:
        raise LayoutError("the job has no tasks: its R has no cores")
    ends = list(accumulate(counts))
    return [
        NodeTasks(node.rank, node.host, tuple(range(end - count, end)), node.cores, node.gpus)
        for node, count, end in zip(nodes, counts, ends, strict=True)
    ]


def _counts(jobspec: JSON, resources: JSON, nodes: Sequence[NodeTasks]) -> list[int]:
    slot_cores = cores_per_slot(jobspec)
    per = shell_options(jobspec).get("per-resource")
    if isinstance(per, dict):
        each = int(per.get("count", 1))
        return [each if per.get("type", "node") == "node" else each * len(node.cores) for node in nodes]
    tasks = task_count(jobspec)
    cores = [len(node.cores) for node in nodes]
    if "total" in tasks:
        return distribute(cores, int(tasks["total"]), None)
    slots = resource_set.nslots_of(resources) or sum(count // slot_cores for count in cores)
    return distribute(cores, int(slots) * int(tasks.get("per_slot", 1)), slot_cores)


def distribute(cores: Sequence[int], tasks: int, cores_per_task: int | None) -> list[int]:
    """Return the tasks of each node, given its cores: in rounds, the largest node first.

    More tasks than fit share cores. Raises LayoutError where there are no cores at all.
    """
    if not sum(cores):
        raise LayoutError("taskmap: no cores to run tasks on")
    each = max(1, cores_per_task or sum(cores) // max(1, tasks))
    each = min(each, *(count for count in cores if count))
    placed = [0] * len(cores)
    left = tasks
    while left:
        free = list(cores)
        order = sorted(
            (node for node in range(len(cores)) if free[node] >= each), key=lambda node: -free[node]
        )
        while order and left:
            node = order.pop(0)
            placed[node] += 1
            left -= 1
            free[node] -= each
            if free[node] >= each:
                order.append(node)
    return placed


def process_mapping(nodes: Sequence[NodeTasks]) -> str:
    """Return PMI_process_mapping: runs of nodes with equally many tasks, `(vector,(first,nodes,tasks),…)`."""
    runs: list[list[int]] = []
    for index, node in enumerate(nodes):
        count = len(node.tasks)
        if runs and runs[-1][2] == count:
            runs[-1][1] += 1
        else:
            runs.append([index, 1, count])
    return (
        "(vector," + ",".join(f"({first},{length},{count})" for first, length, count in runs if count) + ")"
    )
