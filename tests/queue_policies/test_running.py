"""The running jobs by id, by end and in order; and how far they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.running import RunningJobs


@given(
    jobs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 3)), max_size=30),
    removed=st.sets(st.integers(0, 9)),
    asked=st.integers(0, 30),
)
def test_keeps_ends_and_order(
    kit: Any, jobs: list[tuple[int, int, int]], removed: set[int], asked: int
) -> None:
    """A record that is set anew takes the place of the old one, whenever the order was first asked for."""
    running, known = RunningJobs(), {}
    for index, (number, end, priority) in enumerate(jobs):
        if index == asked:
            running.by_order()
        known[number] = running[number] = kit.runs(number, 1, end=float(end), priority=priority)
    for number in removed:
        assert running.pop(number) == known.pop(number, None)
    assert list(running.by_end()) == sorted(known.values(), key=lambda job: (job.end, job.id))
    assert running.by_order() == sorted(known.values(), key=lambda job: (-job.priority, job.id))
    assert (len(running), set(running)) == (len(known), set(known))
    assert all(number in running and running[number] == job for number, job in known.items())


@pytest.mark.parametrize(
    ("remaining", "estimated", "now", "left"),
    [
        pytest.param(1.0, True, 25.0, 0.75, id="by its estimate"),
        pytest.param(0.5, True, 75.0, 0.0, id="no less than nothing"),
        pytest.param(0.5, True, -9.0, 0.5, id="before it computes"),
        pytest.param(0.5, False, 25.0, 0.5, id="without estimate as it was measured"),
        pytest.param(None, True, 25.0, None, id="unknown"),
    ],
)
def test_the_fraction_that_is_left(kit: Any, remaining: Any, estimated: bool, now: float, left: Any) -> None:
    job = kit.runs(
        1, 4, estimate=kit.Amdahl(0, 400) if estimated else None, remaining=remaining, measured=0.0
    )
    assert job.left(now) == left


def test_a_larger_record_is_of_the_same_job(kit: Any) -> None:
    job = kit.runs(1, 4, 2, 8)
    assert job._replace(request=job.request.sized(6)).size == 6
