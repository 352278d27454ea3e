"""The indexed queue."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.queue import IndexedQueue, Line


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(1, 3)), unique_by=lambda job: job[0]
    ),
    removed=st.sets(st.integers(0, 50)),
    asked=st.integers(0, 50),
)
def test_keeps_order_and_classes(
    kit: Any, jobs: list[tuple[int, int, int]], removed: set[int], asked: int
) -> None:
    """Also where classes were asked for before, of some of the jobs."""
    queue = IndexedQueue(kit.Job(number, size, priority=p).queued() for number, p, size in jobs[:asked])
    list(queue.classes())
    for number, p, size in jobs[asked:]:
        queue.add(kit.Job(number, size, priority=p).queued())
    for number in removed & {job[0] for job in jobs}:
        queue.remove(number)
    left = [job for job in jobs if job[0] not in removed]
    assert [job.id for job in queue] == [n for n, _, _ in sorted(left, key=lambda job: (-job[1], job[0]))]
    assert sorted(job.id for group in queue.classes() for job in group) == sorted(job[0] for job in left)
    for group in queue.classes():
        assert len({job.request for job in group}) == 1
        assert [job.order for job in group] == sorted(job.order for job in group)


def test_finds_by_id(kit: Any) -> None:
    queue = IndexedQueue([kit.Job(3, 1).queued()])
    assert (3 in queue, 4 in queue, len(queue), queue[3].id) == (True, False, 1, 3)


def test_refuses_an_id_twice(kit: Any) -> None:
    with pytest.raises(ValueError, match="job 3 is queued already"):
        IndexedQueue([kit.Job(3, 1).queued(), kit.Job(3, 2).queued()])


def test_refuses_to_remove_what_is_not_there() -> None:
    with pytest.raises(KeyError):
        IndexedQueue().remove(1)


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 2), st.integers(1, 99)), unique_by=lambda j: j[0]
    ),
    order=st.tuples(st.integers(-3, 1), st.integers(0, 2000)),
    shorter=st.one_of(st.integers(0, 99).map(float), st.just(math.inf)),
)
def test_finds_the_next_short_job(kit: Any, jobs: Any, order: Any, shorter: float) -> None:
    line = Line()
    queued = [kit.waits(number, 1, priority=priority, limit=float(limit)) for number, priority, limit in jobs]
    for job in queued:
        line.add(job.order, job)
    behind = [job for job in queued if job.order > order and (shorter == math.inf or job.limit < shorter)]
    assert line.after(order, shorter) == min(behind, key=lambda job: job.order, default=None)


def test_a_long_line_is_kept_in_blocks(kit: Any) -> None:
    """Put in from behind and taken out from the middle; every 500th job is short."""
    line = Line()
    jobs = [kit.waits(number, 1, limit=1.0 if number % 500 == 0 else 9.0) for number in range(3000)]
    for job in reversed(jobs):
        line.add(job.order, job)
    assert line.after((-16, 0), 5.0) == jobs[500]
    for job in jobs[400:1100]:
        line.remove(job.order)
    assert line.after((-16, 0), 5.0) == jobs[1500]
    assert line.after((-16, 2500), 5.0) is None
    assert line.after((-16, 2999)) is None
    assert list(line) == jobs[:400] + jobs[1100:]


def test_classes_are_limited_by_size(kit: Any) -> None:
    queue = IndexedQueue(kit.waits(number, size) for number, size in enumerate((4, 2, 2, 1, 3)))
    assert [line.head.id for line in queue.classes(3)] == [3, 1, 4]
    queue.remove(3)
    assert [line.head.id for line in queue.classes(3)] == [1, 4]
