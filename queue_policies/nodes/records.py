"""What this room knows of nodes and of requests, and what it gives out.

Ids of cores and GPUs are bits of a number: bit N is set for the id N. So a node's free cores are one number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from queue_policies.records import Request

RankResources = tuple[int, int]
"""What is taken of one rank: bits of cores, bits of GPUs."""
Allocation = dict[int, RankResources]
"""What a job holds, by rank."""
NOTHING: RankResources = (0, 0)


class ClusterNode(Protocol):
    """A node with all that it has."""

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


class NodeRequest(Request, Protocol):
    """A request for nodes and cores. With `nodes`, `slots` counts on each node; without, over all of them."""

    @property
    def nodes(self) -> int:
        """How many nodes are asked for; 0: any number."""

    @property
    def slots(self) -> int:
        """How many slots, on each node where nodes are asked for."""

    @property
    def cores(self) -> int:
        """Cores in a slot."""

    @property
    def gpus(self) -> int:
        """GPUs in a slot."""

    @property
    def exclusive(self) -> bool:
        """Whether only whole nodes will do."""

    @property
    def constraint(self) -> Hashable:
        """Which nodes will do; None: all."""

    @property
    def workers(self) -> int:
        """The workers of an elastic job, each of which has a node or a slot."""

    def with_workers(self, count: int) -> Any:
        """Return the same request for so many workers."""

    def sized(self, size: int) -> Any:
        """Return the same request for so many cores, rounded down to whole workers."""


Matches = Callable[[Any, Any], bool]
"""Returns whether a node satisfies a constraint."""


@dataclass(frozen=True, slots=True)
class Slot:
    """What one worker of a job holds on its rank."""

    rank: int
    resources: RankResources
