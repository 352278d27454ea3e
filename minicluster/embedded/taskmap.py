"""Which task runs where: a jobspec (RFC 25) and its R (RFC 20) laid out as Flux's shell does it.

Tasks go to the largest nodes first, one at a time around the nodes, and are numbered in blocks, node by node
(RFC 34 block map).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config import hostlist, idset
from minicluster.embedded.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minicluster.embedded.ports import JSON


@dataclass(frozen=True, slots=True)
class Node:
    """One broker's share: `tasks` are the global task ranks, `cores` and `gpus` the ids that R gives."""

    rank: int
    host: str
    tasks: tuple[int, ...]
    cores: tuple[int, ...]
    gpus: tuple[int, ...]


def nodes_of(resources: Mapping[str, Any]) -> list[Node]:
    """Return the nodes of R by rising rank, without tasks."""
    execution = resources["execution"]
    found: dict[int, Mapping[str, str]] = {}
    for entry in execution["R_lite"]:
        for rank in idset.decode(str(entry["rank"])):
            found[rank] = entry["children"]
    hosts = [host for text in execution.get("nodelist", ()) for host in hostlist.decode(text)]
    ranks = sorted(found)
    if len(hosts) != len(ranks):
        raise LayoutError(f"R has {len(ranks)} ranks and {len(hosts)} hosts; there must be one host a rank")
    return [
        Node(rank, host, (), _ids(found[rank].get("core")), _ids(found[rank].get("gpu")))
        for rank, host in zip(ranks, hosts, strict=True)
    ]


def _ids(text: str | None) -> tuple[int, ...]:
    return tuple(idset.decode(str(text))) if text else ()


def layout(jobspec: JSON, resources: JSON) -> list[Node]:
    """Return the nodes of R with their tasks."""
    nodes = nodes_of(resources)
    counts = _counts(jobspec, resources, nodes)
    if sum(counts) == 0:
        raise LayoutError("the job has no tasks: its R has no cores")
    placed: list[Node] = []
    first = 0
    for node, count in zip(nodes, counts, strict=True):
        tasks = tuple(range(first, first + count))
        placed.append(Node(node.rank, node.host, tasks, node.cores, node.gpus))
        first += count
    return placed


def _counts(jobspec: JSON, resources: JSON, nodes: Sequence[Node]) -> list[int]:
    slot_cores = cores_per_slot(jobspec)
    per = shell_options(jobspec).get("per-resource")
    if isinstance(per, dict):
        each = int(per.get("count", 1))
        return [each if per.get("type", "node") == "node" else each * len(node.cores) for node in nodes]
    tasks = jobspec["tasks"][0]["count"]
    cores = [len(node.cores) for node in nodes]
    if "total" in tasks:
        return distribute(cores, int(tasks["total"]), None)
    slots = resources["execution"].get("nslots") or sum(count // slot_cores for count in cores)
    return distribute(cores, int(slots) * int(tasks.get("per_slot", 1)), slot_cores)


def distribute(cores: Sequence[int], tasks: int, cores_per_task: int | None) -> list[int]:
    """Spread tasks over nodes of so many cores: the largest first, around and around; more tasks share.

    Raises LayoutError where there are no cores at all.
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


def cores_per_slot(jobspec: JSON) -> int:
    """Return how many cores the jobspec asks for in each slot (1 where it does not say)."""

    def find(resources: Sequence[Mapping[str, Any]], *, in_slot: bool) -> int:
        for entry in resources:
            if in_slot and entry["type"] == "core":
                return int(entry["count"])
            found = find(entry.get("with", ()), in_slot=in_slot or entry["type"] == "slot")
            if found:
                return found
        return 0

    return find(jobspec.get("resources", ()), in_slot=False) or 1


def shell_options(jobspec: JSON) -> Mapping[str, Any]:
    """Return attributes.system.shell.options, empty where there are none."""
    system = jobspec.get("attributes", {}).get("system", {})
    options = system.get("shell", {}).get("options", {})
    return options if isinstance(options, dict) else {}


def process_mapping(nodes: Sequence[Node]) -> str:
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
