"""R as the resource module gives it to a scheduler. Ranks may be missing, and may leave later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats import idset
from broker_config.formats.resource_set import Node, encode, nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_config.formats.resource_set import Allocation, R

_NOBODY = "nobody"
"""The host of a rank that has nothing."""


class Ranks:
    """The nodes by rank. A rank that is excluded, or has left, is not among them."""

    def __init__(self, resources: Mapping[str, Any]) -> None:
        self.nodes: dict[int, Node] = {node.rank: node for node in nodes_of(resources)}
        self.up: set[int] = set()

    def named(self, ranks: str) -> set[int]:
        """Return the ranks of an idset, or `all`, that are here."""
        return set(self.nodes) if ranks == "all" else set(idset.decode(ranks)) & self.nodes.keys()

    def remove(self, ranks: Iterable[int]) -> None:
        """Remove these ranks for good."""
        for rank in ranks:
            self.nodes.pop(rank, None)
            self.up.discard(rank)

    def encode(self, allocation: Allocation | None = None, **execution: Any) -> R:
        """Return the R of everything, or of an allocation without ranks that have left."""
        given = (
            self.whole() if allocation is None else {r: s for r, s in allocation.items() if r in self.nodes}
        )
        return encode(self.nodes, given, **execution)

    def whole(self, ranks: Iterable[int] | None = None) -> Allocation:
        """Return all resources of these ranks; None: of all ranks."""
        return {
            r: (self.nodes[r].cores, self.nodes[r].gpus) for r in (self.nodes if ranks is None else ranks)
        }

    def filled(self) -> list[Node]:
        """Return the nodes without gaps, as a pool wants them: missing ranks have nothing."""
        last = max(self.nodes, default=-1)
        return [self.nodes.get(rank, Node(rank, _NOBODY, 0, 0, frozenset())) for rank in range(last + 1)]
