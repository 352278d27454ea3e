"""The policies that shrink for waiting jobs and grow into free units."""

from __future__ import annotations

import math
from typing import Any, Self

import pytest

from queue_policies import plugins
from queue_policies.common_pool import CommonPool
from queue_policies.malleable import Malleable
from queue_policies.min_agreement import MinAgreement
from queue_policies.records import Action, Change, Grow, Happened, Reserve, Shrink, Start, WakeAt

ALL = ("malleable", "min-agreement", "common-pool")


def actions(kit: Any, name: str, *state: Any, **values: Any) -> list[Action]:
    """The answer, without what it tells users."""
    answer = kit.answer(plugins.load(name, values), kit.state(*state))
    return [action for action in answer if not isinstance(action, Reserve)]


@pytest.mark.parametrize(
    ("name", "size"), [("malleable", 2), ("min-agreement", 2), ("common-pool", 8)], ids=ALL
)
def test_the_size_at_which_a_malleable_job_starts(kit: Any, name: str, size: int) -> None:
    assert actions(kit, name, 16, [kit.waits(1, 2, 8)]) == [Start(1, size)]


@pytest.mark.parametrize("name", ["malleable", "common-pool"])
def test_a_moldable_job_starts_at_the_largest_size_that_fits(kit: Any, name: str) -> None:
    assert actions(kit, name, 6, [kit.waits(1, 2, 8, malleable=False)]) == [Start(1, 6)]


@pytest.mark.parametrize("name", ALL)
def test_the_head_takes_what_it_lacks(kit: Any, name: str) -> None:
    running = [kit.runs(8, 8, 4, 8), kit.runs(9, 6, 4, 8)]
    assert actions(kit, name, 16, [kit.waits(1, 5)], running) == [Shrink(8, 5), Start(1, None, (8,))]


@pytest.mark.parametrize("name", ALL)
def test_several_give_together(kit: Any, name: str) -> None:
    running = [kit.runs(8, 8, 6, 8), kit.runs(9, 8, 7, 8)]
    answer = actions(kit, name, 16, [kit.waits(1, 3)], running)
    assert answer == [Shrink(8, 6), Shrink(9, 7), Start(1, None, (8, 9))]


@pytest.mark.parametrize("name", ALL)
def test_nobody_gives_where_all_together_have_too_little(kit: Any, name: str) -> None:
    assert actions(kit, name, 16, [kit.waits(1, 5)], [kit.runs(8, 16, 12, 16)]) == []


def test_who_gives_first(kit: Any) -> None:
    """By the text those with the most units, by min-agreement those with the most above their least."""
    running = [kit.runs(8, 10, 8, 12), kit.runs(9, 6, 2, 8)]
    state = kit.state(16, [kit.waits(1, 2)], running)
    assert kit.answer(Malleable(), state)[0] == Shrink(8, 8)
    assert kit.answer(MinAgreement(), state)[0] == Shrink(9, 4)
    assert kit.answer(CommonPool(), state)[0] == Shrink(9, 4)


def test_who_grows_first(kit: Any) -> None:
    """By the text those with the fewest units, by min-agreement those with the fewest above their least."""
    running = [kit.runs(8, 8, 8, 12), kit.runs(9, 5, 2, 8)]
    state = kit.state(16, (), running)
    assert kit.answer(Malleable(), state) == [Grow(9, 8)]
    assert kit.answer(MinAgreement(), state) == [Grow(8, 11)]
    assert kit.answer(CommonPool(), state) == [Grow(9, 8)]


def test_which_waiting_jobs_are_served(kit: Any) -> None:
    """By the text the head; by min-agreement whoever can; from the common pool in order until one cannot."""
    queued = [kit.waits(1, 2), kit.waits(2, 9), kit.waits(3, 2)]
    running = [kit.runs(9, 16, 8, 16)]
    one = [Shrink(9, 14), Start(1, None, (9,))]
    assert actions(kit, "malleable", 16, queued, running) == one
    assert actions(kit, "common-pool", 16, queued, running) == one
    both = [Shrink(9, 12), Start(1, None, (9,)), Start(3, None, (9,))]
    assert actions(kit, "min-agreement", 16, queued, running) == both
    assert actions(kit, "common-pool", 16, [queued[0], queued[2]], running) == both


@pytest.mark.parametrize("name", ALL)
def test_a_gap_is_waited_for(kit: Any, name: str) -> None:
    """By donors where a job waits, by receivers where units are free."""
    running = [kit.runs(9, 8, 2, 12, acted=-20.0)]
    assert actions(kit, name, 8, [kit.waits(1, 6)], running, gap=60.0) == [WakeAt(40.0)]
    assert actions(kit, name, 9, (), running, gap=60.0) == [WakeAt(40.0)]
    assert actions(kit, name, 8, (), running, gap=60.0) == []


@pytest.mark.parametrize("name", ALL)
def test_who_accepts_no_orders_is_left_alone(kit: Any, name: str) -> None:
    running = [kit.runs(7, 4, 2, 12, heeds=False), kit.runs(8, 4), kit.runs(9, 4, 2, 12, malleable=False)]
    assert actions(kit, name, 13, [kit.waits(1, 2)], running) == []


def test_min_agreement_passes_over_what_is_not_there(kit: Any) -> None:
    """Job 1 has no place, though by number there is one: nobody shrinks for it."""
    state = kit.state(8, [kit.waits(1, 4), kit.waits(2, 4)], [kit.runs(9, 4, 4, 8)])
    state.cluster.sketch = lambda: _Elsewhere(state.cluster)
    assert MinAgreement().decide(state, 0.0) == [Grow(9, 8)]


class _Elsewhere:
    """Units that suit no job."""

    def __init__(self, cluster: Any) -> None:
        self.free = cluster.free

    def take(self, job: int, request: Any) -> bool:
        return False

    def fits(self, request: Any) -> bool:
        return False

    def give(self, job: int) -> None:
        """Nor do those that others give up."""

    def copy(self) -> Self:
        return self


class TestCommonPool:
    """What only the common pool does."""

    @pytest.mark.parametrize(
        ("estimate", "left", "expected"),
        [
            pytest.param((0, 4000), 1.0, [Grow(9, 16)], id="it runs long enough"),
            pytest.param((0, 4000), 0.04, [], id="40 s are under 5 times 10 s"),
            pytest.param((990, 40), 1.0, [], id="it would be 5 s faster"),
        ],
    )
    def test_no_growth_in_vain(self, kit: Any, estimate: Any, left: float, expected: list[Grow]) -> None:
        running = kit.runs(9, 4, 4, 16, estimate=kit.Amdahl(*estimate), remaining=left, measured=0.0)
        assert kit.answer(CommonPool(), kit.state(16, (), [running])) == expected

    def test_growth_ends_where_units_would_be_wasted(self, kit: Any) -> None:
        """T(4) is 1000 s: 8000 unit seconds are half as efficient, and 600 · 10 + 1600 are 7600."""
        running = kit.runs(9, 4, 4, 16, estimate=kit.Amdahl(600, 1600), remaining=1.0, measured=0.0)
        assert kit.answer(CommonPool(), kit.state(16, (), [running])) == [Grow(9, 10)]

    def test_what_is_almost_through_gives_nothing(self, kit: Any) -> None:
        running = kit.runs(9, 8, 4, 8, estimate=kit.Amdahl(0, 8000), remaining=0.01, measured=0.0)
        assert actions(kit, "common-pool", 8, [kit.waits(1, 2)], [running]) == []

    def test_growth_leaves_the_head_its_start(self, kit: Any) -> None:
        """The head needs 9 of 10 at 100, so what runs on may take 1, and what ends before that any."""
        queued = [kit.waits(1, 9, limit=50.0)]
        ends = kit.runs(7, 4, end=100.0)
        runs_on = kit.runs(8, 2, 2, 8, end=500.0, acted=0.0)
        assert actions(kit, "common-pool", 12, queued, [ends, runs_on], gap=0.0) == [Grow(8, 3)]
        short = kit.runs(8, 2, 2, 8, end=90.0, acted=0.0)
        assert actions(kit, "common-pool", 12, queued, [ends, short], gap=0.0) == [Grow(8, 8)]

    def test_where_no_start_is_known_units_are_not_left_idle(self, kit: Any) -> None:
        running = [kit.runs(7, 4), kit.runs(8, 2, 2, 8, end=math.inf)]
        assert actions(kit, "common-pool", 12, [kit.waits(1, 11)], running, gap=0.0) == [Grow(8, 8)]

    def test_nothing_grows_where_only_what_cannot_start_arrived(self, kit: Any) -> None:
        """Then the head's start was not looked for."""
        queued = [kit.waits(1, 11, limit=9.0), kit.waits(2, 11, limit=9.0)]
        changes = [Change(Happened.ARRIVED, 2)]
        running = [kit.runs(7, 4, end=9.0), kit.runs(8, 2, 2, 8, end=99.0)]
        assert actions(kit, "common-pool", 12, queued, running, changes) == []
