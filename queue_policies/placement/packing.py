"""Packs workers of two sizes into what is left in several bins, wherever that is possible.

Workers differ by at most one slot (Algorithm 2). A placement that goes worker by worker may leave no room for
the last ones, although there was a way: then this finds one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Packed(NamedTuple):
    """How many workers of each size go into a bin."""

    large: int
    small: int


def pack(bins: Sequence[int], small: int, larges: int, smalls: int) -> list[Packed] | None:
    """Return for each bin (its slots) how many workers of `small + 1` and of `small` slots it gets, or None.

    Exact. A bin of k·small + m slots takes m large workers without having room for fewer workers in all;
    beyond these it loses room for one worker with the first of each further `small` large ones.
    """
    counts = [min(room % small, room // (small + 1)) for room in bins]
    left = larges - sum(counts)
    for index in range(len(bins) - 1, -1, -1):  # too many: the last bins get fewer
        if left >= 0:
            break
        fewer = min(counts[index], -left)
        counts[index] -= fewer
        left += fewer
    further = [room // (small + 1) - count for room, count in zip(bins, counts, strict=True)]
    for full in (True, False):
        for index in sorted(range(len(bins)), key=lambda index: (-min(further[index], small), index)):
            while left > 0 and further[index] >= (small if full else 1):
                more = min(further[index], small, left)
                counts[index] += more
                further[index] -= more
                left -= more
    found = []
    for room, count in zip(bins, counts, strict=True):
        taken = min((room - count * (small + 1)) // small, smalls)
        smalls -= taken
        found.append(Packed(count, taken))
    return found if not left and not smalls else None
