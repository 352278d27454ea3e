"""A ring has the latest entries, and knows who has missed something."""

from __future__ import annotations

import weakref

from hypothesis import given
from hypothesis import strategies as st

from restful.jobs.output.entries import FeedEntry
from restful.jobs.output.ring import Ring

LIMIT = 100

ENTRIES = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 150)), max_size=200)
"""Of each entry: by how much its number is greater than the one before, and its size."""


def _filled(steps: list[tuple[int, int]]) -> tuple[Ring[None], list[FeedEntry[None]]]:
    ring: Ring[None] = Ring(LIMIT, -1)
    entries: list[FeedEntry[None]] = []
    for step, size in steps:
        entries.append(FeedEntry(entries[-1].sequence + step if entries else step - 1, (), size))
        ring.append(entries[-1])
    return ring, entries


@given(ENTRIES, st.integers(-1, 1000))
def test_who_is_not_behind_it_gets_everything(steps: list[tuple[int, int]], position: int) -> None:
    ring, entries = _filled(steps)
    found = ring.behind(position, 1 << 30)
    if ring.covers(position):
        assert list(found) == [each for each in entries if each.sequence > position]
        assert ring.unread(position) == sum(each.size for each in found)


class Item:
    """Something that is there as long as a ring refers to it."""


def test_what_goes_is_freed_at_once() -> None:
    ring: Ring[Item] = Ring(LIMIT, -1)
    items: weakref.WeakSet[Item] = weakref.WeakSet()
    for number in range(50):
        item = Item()
        items.add(item)
        ring.append(FeedEntry(number, (item,), LIMIT))
        del item
    assert len(items) == 1


@given(ENTRIES)
def test_it_has_what_fits_and_the_latest_entry(steps: list[tuple[int, int]]) -> None:
    ring, entries = _filled(steps)
    found = ring.behind(ring.floor, 1 << 30)
    assert sum(each.size for each in found) <= max(LIMIT, entries[-1].size if entries else 0)
    assert found[-1:] == tuple(entries[-1:])


@given(ENTRIES, st.integers(1, 150))
def test_a_batch_is_of_the_size_that_was_asked_for(steps: list[tuple[int, int]], size: int) -> None:
    ring, _ = _filled(steps)
    whole, batch = ring.behind(ring.floor, 1 << 30), ring.behind(ring.floor, size)
    assert batch == whole[: len(batch)]
    assert sum(each.size for each in batch) <= size or len(batch) == 1
    assert sum(each.size for each in whole[: len(batch) + 1]) > size or len(batch) == len(whole)
