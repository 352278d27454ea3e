"""What job shells are to do about the cores of tasks, as R has it.

Flux's shells bind tasks by the option `cpu-affinity`, which is given at submission, before anybody knows
which cores a job gets. So R has a table for each rank, from which placement.lua makes the option's value:

    {"first": 4, "tasks": [2, 2], "cpus": ["0-1", "2-3"]}

`first` is the number that the rank's first worker has in the job, `tasks` has their numbers of tasks. Without
`cpus` the node's are not known, or its one worker has all of the job's cores there. With `floats` tasks are
bound to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from minicluster.flux_scheduler.topology import cpus_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from broker_config.formats.resource_set import R
    from minicluster.flux_scheduler.topology import NodeTopology
    from queue_policies.placement.workers import TaskWorker

KEY = "placement"
"""In `attributes.user` of R: the tables, by rank."""


def floating(ranks: Iterable[int]) -> dict[str, Any]:
    """Return the tables of a job whose tasks are bound to nothing, on these ranks."""
    return {str(rank): {"floats": True} for rank in ranks}


def bindings(
    workers: Mapping[int, Sequence[TaskWorker]], topologies: Mapping[int, NodeTopology]
) -> dict[str, Any]:
    """Return the tables of a job with these task workers on each rank."""
    found: dict[str, Any] = {}
    first = 0
    for rank, on_rank in sorted(workers.items()):
        cpus = _cpus(on_rank, topologies.get(rank))
        table = {"first": first, "tasks": [each.tasks for each in on_rank]}
        found[str(rank)] = {**table, "cpus": cpus} if cpus else table
        first += len(on_rank)
    return found


def _cpus(workers: Sequence[TaskWorker], topology: NodeTopology | None) -> list[str]:
    """Return the CPUs of each worker; empty: they are not known, or there is one worker."""
    if topology is None or len(workers) == 1:
        return []
    sets = [cpus_of(topology, each.cores) for each in workers]
    return [idset.encode_bits(each) for each in sets] if all(sets) else []


def with_bindings(resources: R, tables: Mapping[str, Any]) -> R:
    """Return the R of a job without other attributes, with these tables."""
    return {**resources, "attributes": {"user": {KEY: dict(tables)}}}
