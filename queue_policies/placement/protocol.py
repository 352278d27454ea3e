"""The protocol of a placement, with what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.nodes.records import Allocation, ClusterNode, NodeRequest, RankResources
    from queue_policies.placement.records import Affinity, Profile

_Summary = TypeVar("_Summary")


class NodeJob(NamedTuple):
    """What a job holds on one rank."""

    job: int
    cores: int
    """Bits of core ids."""
    profile: Profile | None
    """None: unknown."""


class PlacementAsk(NamedTuple):
    """A job, or a part that it grows by, for which resources are wanted.

    It names no job: of equal requests in the same state, both fit or neither does.
    """

    request: NodeRequest
    profile: Profile | None
    """None: unknown."""
    tasks: int
    """At least 1."""
    workers: int
    """The number of task workers, at most the number of slots; 0: the placement decides."""
    affinity: Affinity


class PlacementView(Protocol):
    """The nodes as they are at the moment, or would be in a trial. Read-only, and valid for one call."""

    @property
    def nodes(self) -> Sequence[ClusterNode]:
        """All nodes, by rank."""

    @property
    def ranks(self) -> Sequence[int]:
        """The ranks that may be used, ascending: up, not drained, and as the constraint of the request is."""

    def free(self, rank: int) -> RankResources:
        """Return what is free on a rank."""

    def jobs_on(self, rank: int) -> Sequence[NodeJob]:
        """Return who holds something on a rank, in the order in which they came."""

    def summaries(
        self, summary: Callable[[ClusterNode, RankResources, Sequence[NodeJob]], _Summary]
    ) -> Sequence[_Summary]:
        """Return by rank what a pure function makes of each node, of what is free, and of its jobs.

        The results are kept, and made anew for nodes that have changed. So `summary` must be hashable, and
        equal to that of an earlier call.
        """


@runtime_checkable
class Placement(Protocol):
    """A frozen dataclass: its fields are the placement's settings, with their defaults (see `settings`).

    A setting `affinity`, if there is one, is what the instance says of all its jobs.
    """

    name: ClassVar[str]

    def place(self, ask: PlacementAsk, nodes: PlacementView) -> Allocation | None:
        """Return an allocation for all that the request is for, or None. Pure and deterministic.

        What it returns must be free, on ranks that may be used, and neither too little nor too much.
        """
