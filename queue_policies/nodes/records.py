"""Protocols of nodes and requests, and records of allocations.

Ids of cores and GPUs are bits of a number: bit N is set for the id N. So a node's free cores are one number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from queue_policies.records import Request

if TYPE_CHECKING:
    from queue_policies.placement.records import TaskShape

RankResources = tuple[int, int]
"""Resources on one rank: bits of cores, bits of GPUs."""
Allocation = dict[int, RankResources]
"""What a job holds, by rank."""
NOTHING: RankResources = (0, 0)


class ClusterNode(Protocol):
    """A node with all its resources."""

    @property
    def rank(self) -> int:
        """The broker's rank; the ranks of a pool's nodes are 0 to n-1."""

    @property
    def host(self) -> str:
        """The name of the host."""

    @property
    def cores(self) -> int:
        """Bits of core ids."""

    @property
    def gpus(self) -> int:
        """Bits of GPU ids."""

    @property
    def domains(self) -> tuple[int, ...]:
        """Bits of the core ids of each NUMA domain, the lowest first; (): one domain of all cores."""


class NodeRequest(Request, Protocol):
    """A request for nodes and cores. With `nodes`, `slots` counts on each node; without, over all of them."""

    @property
    def nodes(self) -> int:
        """The number of nodes; 0: any number."""

    @property
    def slots(self) -> int:
        """The number of slots: on each node if `nodes` is not 0, else in all."""

    @property
    def cores(self) -> int:
        """Cores in a slot."""

    @property
    def gpus(self) -> int:
        """GPUs in a slot."""

    @property
    def exclusive(self) -> bool:
        """Whether the request is for whole nodes."""

    @property
    def constraint(self) -> Hashable:
        """The constraint on nodes; None: all are eligible."""

    @property
    def shape(self) -> TaskShape | None:
        """What is known of the job's tasks; None: nothing."""

    @property
    def workers(self) -> int:
        """The number of workers of an elastic job. Each has a node or a slot."""

    def with_workers(self, count: int) -> Any:
        """Return the same request for `count` workers."""

    def sized(self, size: int) -> Any:
        """Return the same request for `size` cores, rounded down to whole workers."""


Matches = Callable[[Any, Any], bool]
"""Returns whether a node satisfies a constraint."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What one worker of a job holds on its rank."""

    rank: int
    resources: RankResources
