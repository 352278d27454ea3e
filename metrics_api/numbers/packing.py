"""How many nodes it takes to pack items, beyond what is free on nodes in use.

A packing that fills node after node is not monotone: one more item may need a node less, and a cluster that
follows it would flap. So each item counts as a part of a node: a third if three such items fit on one. The
parts are added up, which is exact for equal items and close for mixed ones.

A gap is what is free on a node in use. For each size, the sum is taken over items of at least this size, less
the gaps that can take such items. The greatest of these sums counts.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Capacity(NamedTuple):
    """Cores and GPUs, of a node or of an item to place on one."""

    cores: int
    gpus: int

    def holds(self, item: Capacity) -> int:
        """Return how many such items fit into it."""
        cores = self.cores // item.cores
        return min(cores, self.gpus // item.gpus) if item.gpus else cores

    def covers(self, item: Capacity) -> bool:
        """Return whether it is at least as large in both."""
        return self.cores >= item.cores and self.gpus >= item.gpus


WHOLE = Capacity(1 << 40, 1 << 40)
"""An item that takes a whole node of any size: it covers every item, and fits into no gap."""
_ANY = Capacity(1, 0)


class JobShape(NamedTuple):
    """The items of a job."""

    item: Capacity
    number: int
    apart: int
    """On how many different nodes they are at least."""
    ranks: frozenset[int]
    """Those on which they fit."""
    per_node: int
    """How many fit on the smallest node of these ranks, at least 1."""


class Ground:
    """The gaps on nodes in use, each with the whole node."""

    def __init__(self, gaps: Iterable[tuple[Capacity, Capacity]]) -> None:
        self._gaps = Counter(gap for gap in gaps if gap[0].cores)

    def fitting(self, item: Capacity) -> int:
        """Return on how many nodes in use such an item fits."""
        return sum(number for (gap, _), number in self._gaps.items() if gap.holds(item))

    def room_for(self, item: Capacity) -> int:
        """Return how many such items fit into the gaps."""
        return sum(gap.holds(item) * number for (gap, _), number in self._gaps.items())

    def taken(self, item: Capacity) -> Fraction:
        """Return the largest sum of parts of nodes that items of at least this size can take of the gaps."""
        parts = (_part(gap, whole, item) * number for (gap, whole), number in self._gaps.items())
        return sum(parts, Fraction(0))


class Pile:
    """Items of many jobs; equal ones are counted together."""

    def __init__(self) -> None:
        self._alike: Counter[tuple[Capacity, int]] = Counter()
        self._apart: dict[Capacity, int] = {}

    @staticmethod
    def of(piles: Iterable[Pile]) -> Pile:
        """Return the union of several piles."""
        whole = Pile()
        for pile in piles:
            whole._alike.update(pile._alike)
            for item, apart in pile._apart.items():
                whole._keep_apart(item, apart)
        return whole

    def add(self, shape: JobShape, jobs: int) -> None:
        """Add `jobs` jobs of this shape."""
        self._alike[shape.item, shape.per_node] += shape.number * jobs
        self._keep_apart(shape.item, shape.apart)

    def _keep_apart(self, item: Capacity, apart: int) -> None:
        self._apart[item] = max(apart, self._apart.get(item, 0))

    @property
    def apart(self) -> int:
        """The least number of different nodes that one job needs."""
        return max(self._apart.values())

    def more(self, ground: Ground) -> int:
        """Return how many nodes all items need besides those in use."""
        wanted = [-((ground.room_for(item) - number) // per) for (item, per), number in self._alike.items()]
        wanted += [apart - ground.fitting(item) for item, apart in self._apart.items()]
        unit = 1  # parts of nodes are counted in units of 1/unit
        for _, per_node in self._alike:
            unit = unit * per_node // math.gcd(unit, per_node)
        parts = {key: number * (unit // key[1]) for key, number in self._alike.items()}
        for item in {_ANY, *self._apart}:
            whole = sum(part for (of, _), part in parts.items() if of.covers(item))
            if whole > unit * max(0, *wanted):  # else gaps cannot make it the greatest
                wanted.append(math.ceil(Fraction(whole, unit) - ground.taken(item)))
        return max(0, *wanted)


@lru_cache(maxsize=1 << 16)
def _part(gap: Capacity, whole: Capacity, least: Capacity) -> Fraction:
    """Return the greatest part of a node that items of at least this size can take of a gap."""
    most, of = 0, 1
    for gpus in range(least.gpus, gap.gpus + 1):
        for cores in range(least.cores, gap.cores + 1):
            item = Capacity(cores, gpus)
            fits, all_fit = gap.holds(item), max(whole.holds(item), 1)
            if fits * of > most * all_fit:
                most, of = fits, all_fit
    return Fraction(most, of)
