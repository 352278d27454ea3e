"""A cache of the ranks that satisfy a constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from queue_policies.nodes.records import ClusterNode, Matches

MAX_REMEMBERED = 1000


class Constraints:
    """The ranks for each constraint; a request without one may use all."""

    def __init__(self, nodes: Sequence[ClusterNode], matches: Matches) -> None:
        self._nodes = nodes
        self._matches = matches
        self._known: dict[Hashable, tuple[int, ...]] = {None: tuple(range(len(nodes)))}

    def __len__(self) -> int:
        return len(self._known)

    def ranks(self, constraint: Hashable) -> tuple[int, ...]:
        """Return the ranks that satisfy the constraint, ascending."""
        known = self._known.get(constraint)
        if known is None:
            if len(self._known) > MAX_REMEMBERED:
                del self._known[next(each for each in self._known if each is not None)]
            known = self._known[constraint] = tuple(
                node.rank for node in self._nodes if self._matches(node, constraint)
            )
        return known
