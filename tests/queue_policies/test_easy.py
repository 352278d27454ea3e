"""EASY backfill: the head's reservation, and what may overtake it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies.easy import Easy
from queue_policies.records import Change, Happened, Start

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


def test_the_head_is_promised_its_start(kit: Any) -> None:
    world = kit.World(Easy(), 4).run([kit.Job(1, 3, runtime=7, limit=100), kit.Job(2, 4, 1.0)])
    assert world.reserved(2) == [100.0]


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        pytest.param((1, 4, 50.0), Start(2, 2), id="short: all that is free"),
        pytest.param((1, 4, 500.0), Start(2, 1), id="long: what the head leaves"),
    ],
)
def test_the_size_at_which_a_moldable_job_overtakes(kit: Any, waiting: Any, expected: Start) -> None:
    """The head needs 3 of 4 at 100."""
    least, most, limit = waiting
    queue = [kit.waits(1, 3, limit=9.0), kit.waits(2, least, most, limit=limit)]
    state = kit.state(4, queue, [kit.runs(9, 2, end=100.0)])
    assert expected in kit.answer(Easy(), state)


@pytest.mark.parametrize(("extra", "started"), [(True, [2]), (False, [])])
def test_extra_units_are_a_setting(kit: Any, extra: bool, started: list[int]) -> None:
    waiting = [kit.Job(1, 3, limit=10), kit.Job(2, 1, limit=500)]
    assert kit.starts(Easy(extra=extra), waiting, [kit.Job(9, 2, limit=100)]) == started


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
def test_only_what_changed_is_considered(kit: Any, changes: list[Change], started: list[int]) -> None:
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


class Kinds:
    """A scratch copy of units of two kinds."""

    def __init__(self, free: list[int], placed: dict[int, tuple[int, int]]) -> None:
        self._free = free
        self._placed = placed

    @property
    def free(self) -> int:
        return sum(self._free)

    def fits(self, request: Any) -> bool:
        return request.units <= self._free[request.kind]

    def take(self, job: int, request: Any) -> bool:
        if not self.fits(request):
            return False
        self._free[request.kind] -= request.units
        self._placed[job] = (request.kind, request.units)
        return True

    def holds(self, job: int) -> bool:
        return job in self._placed

    def give(self, job: int) -> None:
        kind, units = self._placed.pop(job)
        self._free[kind] += units

    def mirror(self, other: Kinds, job: int) -> None:
        kind, units = self._placed[job] = other._placed[job]
        self._free[kind] -= units

    def copy(self) -> Kinds:
        return Kinds(list(self._free), dict(self._placed))


@dataclass(frozen=True)
class Kind:
    """A request for units of a kind."""

    kind: int
    units: int

    @property
    def size(self) -> int:
        return self.units


@pytest.mark.parametrize(
    ("waiting", "started"),
    [
        pytest.param([(1, 2, 500)], [2], id="what the head does not want"),
        pytest.param([(0, 1, 500)], [], id="of the head's kind, too long"),
        pytest.param([(0, 1, 50)], [2], id="of the head's kind, and short"),
        pytest.param([(1, 3, 50), (1, 2, 500)], [3], id="short, but there are too few of its kind"),
        pytest.param([(0, 1, 500), (0, 1, 500), (0, 1, 50)], [4], id="only short ones of that kind"),
    ],
)
def test_the_heads_own_kind_is_kept_for_it(kit: Any, waiting: Any, started: list[int]) -> None:
    """Of each kind there are 4; the head wants all of the first, of which 3 return at 100."""
    queue = [kit.waits(1, 1)._replace(request=Kind(0, 4), limit=10.0)]
    for number, (kind, units, limit) in enumerate(waiting, 2):
        queue.append(kit.waits(number, 1)._replace(request=Kind(kind, units), limit=float(limit)))
    running = [kit.runs(8, 3, end=100.0)._replace(request=Kind(0, 3)), kit.runs(9, 2, end=900.0)]
    state = kit.state(8, queue, running)
    state.cluster.sketch = lambda: Kinds([1, 2], {8: (0, 3), 9: (1, 2)})
    answer = Easy().decide(state, 0.0)
    assert [action.job for action in answer if isinstance(action, Start)] == started
