"""Which ranks of an instance are for bursts, and which queues: by the properties in its R.

An instance with slots gives each rank one of two properties, `local` or `burst`, and those of a slot that
slot's name besides. Queues have the names of these properties. The broker's configuration is not asked: both
engines report R alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import resource_set
from broker_config.formats.burst_names import BURST, LOCAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class BurstRanks(NamedTuple):
    """The ranks of all slots, and the queues whose jobs run there; both empty without slots."""

    ranks: frozenset[int] = frozenset()
    queues: frozenset[str] = frozenset()


NONE = BurstRanks()


def of_nodes(properties: Mapping[int, Iterable[str]]) -> BurstRanks:
    """Return those of an R whose ranks have these properties.

    Somebody's own property `local`, where not all other ranks have `burst`, means no slots.
    """
    own: set[str] = set()
    others: set[str] = set()
    ranks = []
    for rank, names in properties.items():
        if LOCAL in names:
            own.update(names)
        elif BURST in names:
            others.update(names)
            ranks.append(rank)
        else:
            return NONE
    return BurstRanks(frozenset(ranks), frozenset(others - own)) if own and others else NONE


class BurstRanksReader:
    """Reads an instance's R, and keeps the result until R is another one, which is seldom."""

    def __init__(self) -> None:
        self._resources: Any = None
        self._found = NONE

    def read(self, resources: Any) -> BurstRanks:
        """Return those of an R; without an R those of the one before. Raises ResourceSetError."""
        if resources and resources != self._resources:
            nodes = resource_set.nodes_of(resources)
            self._found = of_nodes({node.rank: node.properties for node in nodes})
            self._resources = resources
        return self._found
