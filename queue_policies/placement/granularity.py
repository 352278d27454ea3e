"""Into how many workers a job is divided, on how many nodes, in how many groups (Algorithm 1).

Source: Liu, Guitart, "Fine-Grained Scheduling for Containerized HPC Workloads in Kubernetes Clusters", 2022,
Algorithm 1. A *worker* is some tasks with one common set of cores, a *group* workers that want the same node.
What is undefined there is settled here: without a policy there is one group a node; a profile that the policy
does not know is divided as without one; there are no more workers than tasks; a job that is too large for its
number of nodes gets the fewest that have room for it. `io` and the policy `predicted` are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.errors import Undividable
from queue_policies.placement.records import ProfileKind

if TYPE_CHECKING:
    from collections.abc import Sequence

NONE, SCALE, GRANULARITY, PREDICTED = "none", "scale", "granularity", "predicted"
POLICIES = (NONE, SCALE, GRANULARITY, PREDICTED)


class Division(NamedTuple):
    """How a job is divided."""

    nodes: int
    workers: int
    groups: int


def granularity(
    tasks: int,
    profile: ProfileKind | None,
    policy: str,
    nodes: Sequence[int],
    *,
    workers: int = 1,
    domains: int = 1,
) -> Division:
    """Return the division of a job of `tasks` tasks.

    `nodes` are how many of its tasks each node on offer has room for, `workers` is what the user asked for,
    and `domains` how many NUMA domains a node has. Raises Undividable if there are no tasks, or no nodes.
    """
    if tasks < 1 or not nodes or max(nodes) < 1:
        raise Undividable(
            f"{tasks} task(s) cannot be divided among {len(nodes)} node(s): {_missing(tasks, nodes)}"
        )
    least = fewest(tasks, nodes)
    spread = max(least, min(len(nodes), tasks))
    if profile is None or policy == NONE:
        return Division(least, min(max(workers, least), tasks), least)
    if profile is ProfileKind.NETWORK:
        return Division(least, least, least)
    if policy == SCALE or profile is ProfileKind.IO:
        return Division(spread, spread, spread)
    if policy == GRANULARITY or profile is ProfileKind.CPU:
        return Division(spread, tasks, spread)
    parts = min(tasks, spread * domains)  # predicted, memory: as many memory buses as there are
    return Division(spread, parts, parts)


def fewest(tasks: int, nodes: Sequence[int]) -> int:
    """Return how many of the nodes, the largest first, have room for the tasks; all if even they have not."""
    left = tasks
    for count, room in enumerate(sorted(nodes, reverse=True), 1):
        left -= room
        if left <= 0:
            return count
    return len(nodes)


def _missing(tasks: int, nodes: Sequence[int]) -> str:
    if tasks < 1:
        return "there are none"
    return "none has room for one" if nodes else "no node is on offer"
