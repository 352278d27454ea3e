"""The task workers of an allocation: which cores each has, and how many tasks (Algorithm 2).

They follow from the request and the allocation alone, so that they are the same after a restart of the lead,
and for the simulator, the embedded instance and real Flux.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, NodeRequest
    from queue_policies.placement.records import Affinity


class TaskWorker(NamedTuple):
    """Some tasks of a job with one common set of cores."""

    cores: int
    """Bits of core ids."""
    tasks: int


def workers_of(
    request: NodeRequest,
    allocation: Allocation,
    nodes: Sequence[ClusterNode] | Mapping[int, ClusterNode],
    *,
    granularity: str = "none",
    affinity: Affinity | None = None,
) -> dict[int, tuple[TaskWorker, ...]]:
    """Return the task workers of a job by rank, ranks ascending; task numbers ascend in the same order.

    `nodes` are by rank, `granularity` and `affinity` those of the placement, which hold where the request says
    nothing (`Pool.workers_of` knows them). A worker's cores are of one domain wherever the allocation allows that.
    """
    raise NotImplementedError
