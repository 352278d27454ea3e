"""The nodes of an instance, and on which of them jobs could run. It seldom changes, so it is cached."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from broker_config.formats.constraints import matches
from metrics_api.numbers.packing import WHOLE, Capacity, JobShape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from broker_config.formats.constraints import Constraint
    from metrics_api.numbers.records import NodeState, SlotRequest

    Kinds = dict[Capacity, frozenset[int]]  # the ranks of nodes that are alike

_MAX_KEPT = 20_000
"""Results that are kept of each kind."""


@lru_cache(maxsize=4)
def layout(nodes: tuple[NodeState, ...]) -> Layout:
    """Return the layout of these nodes: the same object for equal nodes."""
    return Layout(nodes)


class Layout:
    """The nodes of an instance."""

    def __init__(self, nodes: tuple[NodeState, ...]) -> None:
        remaining = [node for node in nodes if not node.drained or node.leaving]
        self.wholes = {node.rank: Capacity(node.cores, node.gpus) for node in remaining}
        """The nodes that are not drained for good, by rank."""
        self.everywhere = frozenset(self.wholes)
        self.up = frozenset(node.rank for node in remaining if node.up)
        self.lost = frozenset(node.rank for node in nodes) - self.everywhere
        """The ranks that are drained for good."""
        self._nodes = nodes
        self._kinds, self._all_kinds = _kinds(remaining), _kinds(nodes)
        self._matching: dict[Constraint, frozenset[int]] = {}
        self._joined: dict[frozenset[frozenset[int]], frozenset[int]] = {}
        self._shapes: dict[SlotRequest, JobShape | None] = {}
        self._satisfiable: dict[SlotRequest, bool] = {}

    def shape(self, request: SlotRequest) -> JobShape | None:
        """Return the shape of such a job on these nodes; None if it does not fit."""
        known = self._shapes
        if request not in known:
            _make_room(known)
            known[request] = self._shape(request, self._kinds)
        return known[request]

    def satisfiable(self, request: SlotRequest) -> bool:
        """Return whether it would fit if all nodes were there, undrained and free."""
        known = self._satisfiable
        if request not in known:
            _make_room(known)
            known[request] = self._shape(request, self._all_kinds) is not None
        return known[request]

    def _shape(self, request: SlotRequest, kinds: Kinds) -> JobShape | None:
        slot = Capacity(max(request.cores, 1), request.gpus)
        item = Capacity(slot.cores * request.slots, slot.gpus * request.slots) if request.nodes else slot
        fitting = {
            ranks: fits
            for room, every in kinds.items()
            if (fits := room.holds(item)) and (ranks := self._chosen(every, request.constraint))
        }
        if request.nodes or request.exclusive:
            number = apart = request.nodes or request.slots
            capacity = sum(map(len, fitting))
        else:
            number, apart = request.slots, 1
            capacity = sum(len(ranks) * fits for ranks, fits in fitting.items())
        if not fitting or capacity < number:
            return None
        ranks = self._union(fitting)
        if request.exclusive:
            return JobShape(WHOLE, number, apart, ranks, 1)
        return JobShape(item, number, apart, ranks, min(fitting.values()))

    def _chosen(self, ranks: frozenset[int], constraint: Constraint | None) -> frozenset[int]:
        if constraint is None:
            return ranks
        if constraint not in self._matching:
            _make_room(self._matching)
            found = frozenset(node.rank for node in self._nodes if matches(node, constraint))
            self._matching[constraint] = found
        return ranks & self._matching[constraint]

    def _union(self, fitting: Mapping[frozenset[int], int]) -> frozenset[int]:
        """Return the union of these ranks: the same object for equal ranks."""
        sets = frozenset(fitting)
        if sets not in self._joined:
            _make_room(self._joined)
            found: frozenset[int] = frozenset().union(*sets)
            self._joined[sets] = self.everywhere if found == self.everywhere else found
        return self._joined[sets]


def _kinds(nodes: Iterable[NodeState]) -> Kinds:
    """Return the ranks by their cores and GPUs."""
    found: dict[Capacity, list[int]] = {}
    for node in nodes:
        found.setdefault(Capacity(node.cores, node.gpus), []).append(node.rank)
    return {room: frozenset(ranks) for room, ranks in found.items()}


def _make_room(kept: dict[Any, Any]) -> None:
    """Limit a cache, as jobs may have ever new requests."""
    if len(kept) >= _MAX_KEPT:
        kept.clear()
