"""Conservative backfill: reservations for the first jobs, and what starts beside them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.conservative import Conservative
from queue_policies.records import Change, Happened, Reserve, Start


@pytest.mark.parametrize(
    ("running", "waiting", "expected"),
    [
        pytest.param([], [(2, 10), (2, 10)], [Start(1), Start(2)], id="what fits starts"),
        pytest.param([(2, 100)], [(4, 10), (2, 50)], [Reserve(1, 100), Start(2)], id="ends before the other"),
        pytest.param([(2, 100)], [(4, 10), (2, 100)], [Reserve(1, 100), Start(2)], id="ends just then"),
        pytest.param(
            [(2, 100)], [(4, 10), (2, 101)], [Reserve(1, 100), Reserve(2, 110)], id="would delay it: later"
        ),
        pytest.param(
            [(3, 100)],
            [(4, 10), (2, 20), (1, 200)],
            [Reserve(1, 100), Reserve(2, 110), Reserve(3, 110)],
            id="would delay the second",
        ),
        pytest.param(
            [(2, 100)], [(3, 10), (1, 500)], [Reserve(1, 100), Start(2)], id="beside the reservation"
        ),
        pytest.param(
            [(2, 50), (1, 100)],
            [(3, 10), (2, 30), (2, 5)],
            [Reserve(1, 50), Reserve(2, 60), Reserve(3, 90)],
            id="no hole is large enough",
        ),
        pytest.param([(3, float("inf"))], [(4, 10), (1, 9)], [Start(2)], id="never: no reservation"),
        pytest.param([(4, 100)], [(4, 10)], [], id="nothing is free"),
        pytest.param([(2, -5)], [(4, 10), (2, 5)], [], id="beyond its limit it ends at any moment"),
    ],
)
def test_plans(kit: Any, running: Any, waiting: Any, expected: Any) -> None:
    busy = [kit.runs(100 + n, size, end=float(end)) for n, (size, end) in enumerate(running)]
    queue = [kit.waits(n, size, limit=float(limit)) for n, (size, limit) in enumerate(waiting, 1)]
    answer = kit.answer(Conservative(), kit.state(4, queue, busy))
    if running == [(2, -5)]:
        answer = [action for action in answer if isinstance(action, Start)]
    assert answer == expected


def test_a_moldable_job_starts_at_what_the_plan_leaves(kit: Any) -> None:
    """At 100 the first needs all but 2."""
    queue = [kit.waits(1, 6, limit=50.0), kit.waits(2, 1, 4, limit=200.0), kit.waits(3, 1, 4, limit=100.0)]
    answer = kit.answer(Conservative(), kit.state(8, queue, [kit.runs(9, 3, end=100.0)]))
    assert answer == [Reserve(1, 100.0), Start(2, 2), Start(3, 3)]


@pytest.mark.parametrize(
    ("waiting", "started"),
    [
        pytest.param([(1, 200)], [], id="would delay the first"),
        pytest.param([(1, 50)], [2], id="would not"),
        pytest.param([(1, 200), (1, 300), (1, 50)], [4], id="a long one does not hide a short one"),
        pytest.param([(1, 50), (1, 50)], [2], id="as far as units are free"),
        pytest.param([(2, 50), (1, 50)], [3], id="one that does not fit is passed over"),
    ],
)
def test_jobs_behind_the_depth_start_where_they_delay_none(kit: Any, waiting: Any, started: Any) -> None:
    queue = [kit.waits(1, 4, limit=10.0)]
    queue += [kit.waits(n, size, limit=float(limit)) for n, (size, limit) in enumerate(waiting, 2)]
    state = kit.state(4, queue, [kit.runs(9, 3, end=100.0)])
    answer = kit.answer(Conservative(depth=1), state)
    assert [action.job for action in answer if isinstance(action, Start)] == started


@pytest.mark.parametrize(
    ("size", "depth", "expected"),
    [
        pytest.param(2, 1, [], id="behind, and does not fit: nothing is planned"),
        pytest.param(2, 2, [Reserve(1, 100.0), Reserve(2, 110.0)], id="it has a reservation"),
        pytest.param(1, 1, [Reserve(1, 100.0), Start(2)], id="it fits"),
    ],
)
def test_what_arrives_is_considered(kit: Any, size: int, depth: int, expected: Any) -> None:
    queue = [kit.waits(1, 4, limit=10.0), kit.waits(2, size, limit=10.0)]
    changes = [Change(Happened.ARRIVED, 2)]
    state = kit.state(4, queue, [kit.runs(9, 3, end=100.0)], changes)
    assert kit.answer(Conservative(depth=depth), state) == expected


class _Elsewhere:
    """Units that suit only some jobs."""

    def __init__(self, sketch: Any) -> None:
        self._sketch = sketch
        self.free = sketch.free

    def take(self, job: int, request: Any) -> bool:
        return job == 3


@pytest.mark.parametrize("depth", [1, 9], ids=["behind the depth", "with a reservation"])
def test_where_units_do_not_suit_a_job_it_waits_for_others(kit: Any, depth: int) -> None:
    queue = [kit.waits(1, 4, limit=10.0), kit.waits(2, 1, limit=10.0), kit.waits(3, 1, 1, limit=10.0)]
    state = kit.state(4, queue, [kit.runs(9, 2, end=100.0)])
    sketch = state.cluster.sketch()
    state.cluster.sketch = lambda: _Elsewhere(sketch)
    answer = Conservative(depth=depth).decide(state, 0.0)
    starts = [action.job for action in answer if isinstance(action, Start)]
    assert starts == [3]
    assert Reserve(1, 100.0) in answer


@given(data=st.data(), total=st.integers(1, 8))
def test_no_reservation_is_over_capacity(kit: Any, data: st.DataObject, total: int) -> None:
    """All starts and reservations together, with what runs, fit at each time."""
    limits = st.integers(1, 9).map(float)
    running: list[tuple[int, float]] = []
    for size, limit in data.draw(st.lists(st.tuples(st.integers(1, total), limits), max_size=4)):
        if sum(s for s, _ in running) + size <= total:
            running.append((size, limit))
    waiting = data.draw(st.lists(st.tuples(st.integers(1, total), limits), min_size=1, max_size=9))
    busy = [kit.runs(100 + n, size, end=end) for n, (size, end) in enumerate(running)]
    queue = [kit.waits(n, size, limit=limit) for n, (size, limit) in enumerate(waiting, 1)]
    spans = [(0.0, end, size) for size, end in running]
    for action in kit.answer(Conservative(), kit.state(total, queue, busy)):
        size, limit = waiting[action.job - 1]
        begin = action.at if isinstance(action, Reserve) else 0.0
        spans.append((begin, begin + limit, size))
    for time, _, _ in spans:
        assert sum(size for begin, end, size in spans if begin <= time < end) <= total
