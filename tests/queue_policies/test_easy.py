"""EASY backfill: the head's reservation, and what may overtake it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.easy import Easy
from queue_policies.records import Change, Happened

ARRIVED, ENDED = Happened.ARRIVED, Happened.ENDED


@pytest.mark.parametrize(
    ("running", "waiting", "started"),
    [
        pytest.param([], [(2, 10), (2, 10)], [1, 2], id="what fits starts in order"),
        pytest.param([(3, 100)], [(4, 10), (1, 50)], [2], id="ends before the shadow time"),
        pytest.param([(3, 100)], [(4, 10), (1, 100)], [], id="ends at the shadow time: not before it"),
        pytest.param([(3, 100)], [(4, 10), (1, 500)], [], id="would delay the head"),
        pytest.param([(3, 100)], [(3, 10), (1, 500)], [2], id="uses only extra resources"),
        pytest.param([(2, 100)], [(3, 10), (1, 500), (1, 500)], [2], id="extra resources are used up"),
        pytest.param([(2, 100)], [(3, 10), (1, 500), (1, 50)], [2, 3], id="extra and short ones together"),
        pytest.param([(1, 50), (2, 100)], [(3, 9), (1, 99)], [2], id="the shadow is when enough returned"),
        pytest.param([(1, 50), (2, 100)], [(2, 9), (1, 99)], [], id="a shadow before the last end"),
        pytest.param([(3, math.inf)], [(4, 10), (1, 500)], [2], id="no known shadow: a limited job may"),
        pytest.param(
            [(3, math.inf)], [(4, 10), (1, math.inf)], [], id="no known shadow: an unlimited may not"
        ),
        pytest.param(
            [(3, math.inf)], [(3, 10), (1, math.inf)], [2], id="beside the head even without limits"
        ),
        pytest.param([(2, 100)], [(9, 10), (1, 500)], [2], id="a head that can never fit here holds nothing"),
        pytest.param([(2, 100)], [(9, 10), (1, math.inf)], [], id="but an unlimited job waits behind it"),
        pytest.param([(4, 100)], [(4, 10), (1, 5)], [], id="nothing is free"),
        pytest.param([(3, 100)], [(4, 10), (2, 5), (1, 5)], [3], id="one that does not fit is passed over"),
        pytest.param(
            [(2, 100)], [(4, 10), (1, 500), (1, 50)], [3], id="a long one does not hide a short one"
        ),
        pytest.param([(3, -5)], [(4, 10), (1, 5)], [], id="a job beyond its limit may end at any moment"),
    ],
)
def test_backfill(kit: Any, running: Any, waiting: Any, started: list[int]) -> None:
    busy = [kit.Job(100 + n, size, limit=limit) for n, (size, limit) in enumerate(running)]
    queue = [kit.Job(n, size, limit=limit) for n, (size, limit) in enumerate(waiting, 1)]
    assert kit.starts(Easy(), queue, busy) == started


def test_the_head_is_told_when_it_starts(kit: Any) -> None:
    world = kit.World(Easy(), 4).run([kit.Job(1, 3, runtime=7, limit=100), kit.Job(2, 4, 1.0)])
    assert world.reserved(2) == [100.0]


def test_alike_jobs_all_start(kit: Any) -> None:
    waiting = [kit.Job(1, 4), *(kit.Job(n, 1, limit=5) for n in (2, 3, 4))]
    assert kit.starts(Easy(), waiting, [kit.Job(9, 1, limit=100)]) == [2, 3, 4]


@pytest.mark.parametrize(
    ("changes", "started"),
    [
        pytest.param([Change(ARRIVED, 3)], [3], id="only arrivals behind the head: only they are looked at"),
        pytest.param([Change(ARRIVED, 1)], [2, 3], id="the head is new"),
        pytest.param([Change(ARRIVED, 3), Change(ENDED, 9)], [2, 3], id="something ended"),
        pytest.param([], [2, 3], id="anything may have changed"),
        pytest.param([Change(ARRIVED, 7)], [], id="what arrived has left again"),
    ],
)
def test_only_what_changed_is_looked_at(kit: Any, changes: list[Change], started: list[int]) -> None:
    """Job 2 would have been started at the last decision, had it been possible."""
    waiting = [kit.Job(1, 4), kit.Job(2, 1, limit=5), kit.Job(3, 1, limit=5)]
    assert kit.starts(Easy(), waiting, [kit.Job(9, 2, limit=100)], changes=changes) == started


def _textbook(total: int, running: Any, waiting: Any) -> list[int]:
    """EASY as the paper has it, by counting: shadow time and extra units."""
    free = total - sum(size for size, _ in running)
    ends = [(limit, size) for size, limit in running]
    started, queue = [], list(enumerate(waiting, 1))
    while queue and queue[0][1][0] <= free:
        number, (size, limit) = queue.pop(0)
        free -= size
        ends.append((limit, size))
        started.append(number)
    if not queue:
        return started
    head, at_shadow, shadow = queue[0][1][0], free, math.inf
    for end, _ in sorted(ends):
        if at_shadow >= head:
            break
        at_shadow, shadow = free + sum(size for other, size in ends if other <= end), end
    extra = at_shadow - head
    for number, (size, limit) in queue[1:]:
        if size <= free and (limit < shadow or size <= extra):
            free -= size
            extra -= 0 if limit < shadow else size
            started.append(number)
    return started


@given(data=st.data(), total=st.integers(1, 12))
def test_agrees_with_the_textbook(kit: Any, data: st.DataObject, total: int) -> None:
    limits = st.integers(1, 9).map(float)
    running: list[tuple[int, float]] = []
    for size, limit in data.draw(st.lists(st.tuples(st.integers(1, total), limits), max_size=5)):
        if sum(s for s, _ in running) + size <= total:
            running.append((size, limit))
    waiting = data.draw(st.lists(st.tuples(st.integers(1, total), limits), max_size=10))
    busy = [kit.Job(100 + n, size, limit=limit) for n, (size, limit) in enumerate(running)]
    queue = [kit.Job(n, size, limit=limit) for n, (size, limit) in enumerate(waiting, 1)]
    assert kit.starts(Easy(), queue, busy, total) == _textbook(total, running, waiting)
