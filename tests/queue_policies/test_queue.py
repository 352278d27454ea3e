"""The indexed queue."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.queue import IndexedQueue


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 3), st.integers(1, 3)), unique_by=lambda job: job[0]
    ),
    removed=st.sets(st.integers(0, 50)),
)
def test_keeps_order_and_classes(kit: Any, jobs: list[tuple[int, int, int]], removed: set[int]) -> None:
    queue = IndexedQueue(kit.Job(number, size, priority=p).queued() for number, p, size in jobs)
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
