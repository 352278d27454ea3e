"""An answer in the making: what it leaves free, and what its orders add up to."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies.draft import Draft
from queue_policies.records import Grow, Shrink, Start, WakeAt


def test_orders_to_a_job_add_up(kit: Any) -> None:
    donor, other = kit.runs(8, 8, 2, 8), kit.runs(9, 4, 2, 8)
    draft = Draft(kit.state(16, (), [donor, other]))
    draft.shrink(donor, 6)
    draft.shrink(donor, 5)
    draft.grow(other, 6)
    assert (draft.idle, draft.free, draft.size(donor), draft.size(other)) == (2, 5, 5, 6)
    assert draft.answer(0.0) == [Shrink(8, 5), Grow(9, 6)]


def test_a_start_takes_what_is_free_and_then_what_is_given(kit: Any) -> None:
    queued = [kit.waits(n, 3) for n in (1, 2, 3)]
    donors = [kit.runs(8, 6, 2, 8), kit.runs(9, 6, 2, 8)]
    draft = Draft(kit.state(16, queued, donors))
    for donor in donors:
        draft.shrink(donor, 4)
    assert [draft.start(job, 3) for job in queued] == [True, True, False], "of 4 and 2 and 2, 2 are left"
    assert draft.answer(0.0)[2:] == [Start(1), Start(2, None, (8,))]
    assert (draft.free, draft.idle) == (2, 0)


def test_a_started_job_can_have_more(kit: Any) -> None:
    queued = [kit.waits(1, 2, 8), kit.waits(2, 3, 8)]
    donor = kit.runs(9, 6, 2, 8)
    draft = Draft(kit.state(8, queued, [donor]))
    assert draft.start(queued[0], 2)
    draft.shrink(donor, 2)
    assert draft.start(queued[1], 3)
    assert not draft.enlarge(queued[0], 3), "what is left is not free yet"
    assert draft.answer(0.0)[1:] == [Start(1, 2), Start(2, 3, (9,))]


@pytest.mark.parametrize("waits", [False, True], ids=["on free units", "that waits for others"])
def test_it_gets_what_is_free(kit: Any, waits: bool) -> None:
    queued = kit.waits(1, 2, 8)
    donor = kit.runs(9, 6, 2, 8)
    draft = Draft(kit.state(9, [queued], [donor]))
    draft.shrink(donor, 4)
    assert draft.start(queued, 5 if waits else 2)
    assert draft.enlarge(queued, 6 if waits else 3) is not waits
    assert not draft.enlarge(queued, 8)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        pytest.param([9.0, 7.0], [WakeAt(7.0)], id="the earliest"),
        pytest.param([5.0], [], id="not now"),
        pytest.param([float("inf")], [], id="not never"),
    ],
)
def test_it_wakes_once(kit: Any, times: list[float], expected: list[WakeAt]) -> None:
    draft = Draft(kit.state(4))
    for time in times:
        draft.wake(time)
    assert draft.answer(5.0) == expected
