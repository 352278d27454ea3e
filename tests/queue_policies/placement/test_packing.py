"""Packing workers of two sizes finds a way wherever there is one."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from queue_policies.placement.packing import pack
from tests.budgets import examples


def _possible(bins: tuple[int, ...], small: int, larges: int, smalls: int) -> bool:
    @cache
    def rest(index: int, large: int, few: int) -> bool:
        if large <= 0 and few <= 0:
            return True
        if index == len(bins):
            return False
        return any(
            rest(index + 1, large - taken, few - (bins[index] - taken * (small + 1)) // small)
            for taken in range(min(large, bins[index] // (small + 1)) + 1)
        )

    return rest(0, larges, smalls)


@given(
    bins=st.lists(st.integers(0, 14), max_size=5).map(tuple),
    small=st.integers(1, 6),
    larges=st.integers(0, 7),
    smalls=st.integers(0, 7),
)
@settings(max_examples=examples(200))
def test_it_packs_what_can_be_packed(bins: tuple[int, ...], small: int, larges: int, smalls: int) -> None:
    found = pack(bins, small, larges, smalls)
    assert (found is not None) == _possible(bins, small, larges, smalls)
    if found is not None:
        used = [each.large * (small + 1) + each.small * small for each in found]
        assert all(count <= room for count, room in zip(used, bins, strict=True))
        assert (sum(each.large for each in found), sum(each.small for each in found)) == (larges, smalls)
