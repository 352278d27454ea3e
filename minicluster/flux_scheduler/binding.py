"""What job shells are to do about the cores of tasks, as R has it.

Flux's shells bind tasks by the option `cpu-affinity`, which is given at submission, before anybody knows
which cores a job gets. So R has the option's value for each rank, and placement.lua sets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from minicluster.flux_scheduler.topology import cpus_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker_config.formats.resource_set import R
    from minicluster.flux_scheduler.topology import Topology
    from queue_policies.placement.workers import TaskWorker

KEY = "placement"
"""In `attributes.user` of R: a table for each rank of the job."""
OPTION = "cpu-affinity"
"""In such a table: the shell option's value; absent: as the shell has it, all of the job's cores."""
WORKERS = "workers"
"""In such a table: the number of the worker of each task, in the order of tasks."""
OFF, PER_TASK, MAP = "off", "per-task", "map:"
"""Values of the option."""


def bindings(
    workers: Mapping[int, Sequence[TaskWorker]], topologies: Mapping[int, Topology], *, floats: bool = False
) -> dict[str, Any]:
    """Return the tables by rank, for a job with these task workers on each rank.

    With `floats` tasks are bound to nothing.
    """
    found: dict[str, Any] = {}
    first = 0
    for rank, on_rank in sorted(workers.items()):
        numbers = [first + number for number, each in enumerate(on_rank) for _ in range(each.tasks)]
        value = OFF if floats else _value(on_rank, topologies.get(rank))
        found[str(rank)] = {WORKERS: numbers, **({OPTION: value} if value else {})}
        first += len(on_rank)
    return found


def _value(workers: Sequence[TaskWorker], topology: Topology | None) -> str:
    """Return the option by which each task gets the CPUs of its worker's cores; empty: nothing does."""
    if len(workers) == 1:
        return ""
    sets = [0 if topology is None else cpus_of(topology, each.cores) for each in workers]
    if all(sets):
        texts = [idset.encode_bits(cpus) for cpus in sets]
        shown = (text for text, each in zip(texts, workers, strict=True) for _ in range(each.tasks))
        return MAP + ";".join(shown)
    return PER_TASK if all(each.tasks == 1 for each in workers) else ""


def with_bindings(resources: R, tables: Mapping[str, Any]) -> R:
    """Return R with these tables."""
    attributes = resources.get("attributes", {})
    user = {**attributes.get("user", {}), KEY: dict(tables)}
    return {**resources, "attributes": {**attributes, "user": user}}
