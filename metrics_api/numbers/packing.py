"""How many nodes it takes to pack items, beyond what is free on nodes in use.

A packing that fills node after node is not monotone: with one item more it may come out with a node less, and
a cluster that follows it would flap. So each item counts as the part of a node that it takes among its like
(a third, where three of them fit), and the parts are added up: exact for items that are alike, close for
mixed ones. A gap, on a node in use, takes what fits into it: the sum is taken for each size over the items
that are as large or larger, with the gaps that can take such, and the greatest counts.
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
    """Cores and GPUs, of a node or of what is to be placed on one."""

    cores: int
    gpus: int

    def holds(self, item: Capacity) -> int:
        """Return how many such items go into it."""
        cores = self.cores // item.cores
        return min(cores, self.gpus // item.gpus) if item.gpus else cores

    def covers(self, item: Capacity) -> bool:
        """Tell whether it is as large in both."""
        return self.cores >= item.cores and self.gpus >= item.gpus


WHOLE = Capacity(1 << 40, 1 << 40)
"""An item that takes a whole node, however large: it covers every item, and goes into no gap."""
_ANY = Capacity(1, 0)


class JobShape(NamedTuple):
    """What a job puts on nodes: `number` items, on at least `apart` different nodes."""

    item: Capacity
    number: int
    apart: int
    ranks: frozenset[int]  # that could have them
    per_node: int  # that go on the least of these, at least 1


class Ground:
    """The gaps on nodes in use: what is free of the whole."""

    def __init__(self, gaps: Iterable[tuple[Capacity, Capacity]]) -> None:
        self._gaps = Counter(gap for gap in gaps if gap[0].cores)

    def fitting(self, item: Capacity) -> int:
        """Return on how many nodes in use such an item fits."""
        return sum(number for (gap, _), number in self._gaps.items() if gap.holds(item))

    def room_for(self, item: Capacity) -> int:
        """Return how many such items go into the gaps."""
        return sum(gap.holds(item) * number for (gap, _), number in self._gaps.items())

    def taken(self, item: Capacity) -> Fraction:
        """Return the parts of nodes that items of at least this size can at most make of the gaps."""
        parts = (_part(gap, whole, item) * number for (gap, whole), number in self._gaps.items())
        return sum(parts, Fraction(0))


class Pile:
    """Items of many jobs; those that are alike are counted together."""

    def __init__(self) -> None:
        self._alike: Counter[tuple[Capacity, int]] = Counter()
        self._apart: dict[Capacity, int] = {}

    @staticmethod
    def of(piles: Iterable[Pile]) -> Pile:
        """Return several piles in one."""
        whole = Pile()
        for pile in piles:
            whole._alike.update(pile._alike)
            for item, apart in pile._apart.items():
                whole._keep_apart(item, apart)
        return whole

    def add(self, shape: JobShape, jobs: int) -> None:
        """Add so many jobs."""
        self._alike[shape.item, shape.per_node] += shape.number * jobs
        self._keep_apart(shape.item, shape.apart)

    def _keep_apart(self, item: Capacity, apart: int) -> None:
        self._apart[item] = max(apart, self._apart.get(item, 0))

    @property
    def apart(self) -> int:
        """Return how many different nodes one job needs at least."""
        return max(self._apart.values())

    def more(self, ground: Ground) -> int:
        """Return how many nodes all this needs besides those in use."""
        wanted = [-((ground.room_for(item) - number) // per) for (item, per), number in self._alike.items()]
        wanted += [apart - ground.fitting(item) for item, apart in self._apart.items()]
        unit = 1  # of which all parts are multiples
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
    """Return the greatest part of a node that items of at least this size can make of a gap."""
    most, of = 0, 1
    for gpus in range(least.gpus, gap.gpus + 1):
        for cores in range(least.cores, gap.cores + 1):
            item = Capacity(cores, gpus)
            fits, all_fit = gap.holds(item), max(whole.holds(item), 1)
            if fits * of > most * all_fit:
                most, of = fits, all_fit
    return Fraction(most, of)
