"""Water-filling: who starts, who gives, who gets; computed by hand for T(p) = serial + work / p."""

from __future__ import annotations

import math
from typing import Any

import pytest

from queue_policies.records import Change, Grow, Happened, Shrink, Start, WakeAt
from queue_policies.water_filling import WaterFilling

LONG, SHORT, STEEP = 16000.0, 16.0, 64000.0
ENDED = (Change(Happened.ENDED, 99),)


def test_a_job_starts_at_its_largest_useful_size(kit: Any) -> None:
    """A start costs nothing extra, so every saving counts; where nothing is saved, the least is taken."""
    queued = [kit.waits(1, 2, 8, estimate=kit.Amdahl(0, LONG)), kit.waits(2, 2, 8, estimate=kit.Amdahl(9, 0))]
    assert kit.answer(WaterFilling(), kit.state(16, queued)) == [Start(1, 8), Start(2, 2)]


def test_all_start_before_any_gets_more(kit: Any) -> None:
    queued = [kit.waits(n, 4, 16, estimate=kit.Amdahl(0, LONG)) for n in (1, 2, 3, 4)]
    assert kit.answer(WaterFilling(), kit.state(16, queued)) == [Start(n, 4) for n in (1, 2, 3, 4)]


def test_those_that_miss_a_unit_least_give_it(kit: Any) -> None:
    """Job 8 is almost through, and job 9 has all of its work before it."""
    running = [
        kit.runs(8, 8, 2, 8, estimate=kit.Amdahl(0, LONG), remaining=0.1, measured=0.0),
        kit.runs(9, 8, 2, 8, estimate=kit.Amdahl(0, LONG), remaining=1.0, measured=0.0),
    ]
    state = kit.state(16, [kit.waits(1, 4)], running)
    assert kit.answer(WaterFilling(), state) == [Shrink(8, 4), Start(1, None, (8,))]


def test_a_low_priority_misses_a_unit_less(kit: Any) -> None:
    running = [
        kit.runs(8, 8, 2, 8, priority=31, estimate=kit.Amdahl(0, LONG), remaining=1.0),
        kit.runs(9, 8, 2, 8, priority=1, estimate=kit.Amdahl(0, LONG), remaining=1.0),
    ]
    state = kit.state(16, [kit.waits(1, 2)], running)
    assert kit.answer(WaterFilling(), state) == [Shrink(9, 6), Start(1, None, (9,))]
    alike = kit.answer(WaterFilling(objective="mean"), state)
    assert alike == [Shrink(8, 7), Shrink(9, 7), Start(1, None, (8, 9))]


def test_donors_give_for_several(kit: Any) -> None:
    """One order a job, however many start on what it gives."""
    queued = [kit.waits(1, 2), kit.waits(2, 3)]
    running = [kit.runs(9, 8, 2, 8, estimate=kit.Amdahl(0, LONG), remaining=1.0)]
    answer = kit.answer(WaterFilling(), kit.state(8, queued, running))
    assert answer == [Shrink(9, 3), Start(1, None, (9,)), Start(2, None, (9,))]


def test_several_give_for_one(kit: Any) -> None:
    running = [kit.runs(n, 4, 2, 4, estimate=kit.Amdahl(0, LONG), remaining=1.0) for n in (8, 9)]
    answer = kit.answer(WaterFilling(), kit.state(9, [kit.waits(1, 5)], running))
    assert answer == [Shrink(8, 2), Shrink(9, 2), Start(1, None, (8, 9))]


@pytest.mark.parametrize(
    ("overtake", "expected"),
    [pytest.param(True, [Start(2)], id="with"), pytest.param(False, [], id="without")],
)
def test_overtaking_is_a_setting(kit: Any, overtake: bool, expected: list[Start]) -> None:
    state = kit.state(8, [kit.waits(1, 6), kit.waits(2, 2)], [kit.runs(9, 5)])
    assert kit.answer(WaterFilling(overtake=overtake), state) == expected


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        pytest.param([(8, LONG, 1.0)], [Grow(8, 12)], id="what saves enough grows"),
        pytest.param([(8, SHORT, 1.0)], [], id="what saves less than three times the overhead does not"),
        pytest.param([(8, LONG, 0.001)], [], id="nor what is almost through"),
        pytest.param([(8, LONG, 1.0), (9, STEEP, 1.0)], [Grow(9, 8)], id="most where a unit saves most"),
    ],
)
def test_free_units_go_where_they_save_most(kit: Any, running: Any, expected: list[Grow]) -> None:
    records = [
        kit.runs(n, 4, 2, 16, estimate=kit.Amdahl(0, work), remaining=left) for n, work, left in running
    ]
    assert kit.answer(WaterFilling(), kit.state(12, (), records, ENDED)) == expected


def test_the_level_is_the_same_in_alike_vessels(kit: Any) -> None:
    records = [kit.runs(n, 2, 2, 16, estimate=kit.Amdahl(0, LONG), remaining=1.0) for n in (1, 2, 3)]
    answer = kit.answer(WaterFilling(), kit.state(18, (), records, ENDED))
    assert answer == [Grow(1, 6), Grow(2, 6), Grow(3, 6)]


def test_for_the_makespan_the_longest_gets_it(kit: Any) -> None:
    """By mean time the steeper one would."""
    records = [
        kit.runs(1, 4, 2, 6, estimate=kit.Amdahl(9000, 4000), remaining=1.0),
        kit.runs(2, 4, 2, 6, estimate=kit.Amdahl(0, 8000), remaining=1.0),
    ]
    state = kit.state(10, (), records, ENDED)
    assert kit.answer(WaterFilling(objective="mean"), state) == [Grow(2, 6)]
    assert kit.answer(WaterFilling(objective="makespan"), state) == [Grow(1, 6)]


def test_a_gap_is_waited_for(kit: Any) -> None:
    """By donors where a job waits, by receivers where units are free."""
    running = [kit.runs(9, 6, 2, 12, acted=-20.0, estimate=kit.Amdahl(0, LONG), remaining=1.0)]
    assert kit.answer(WaterFilling(), kit.state(8, [kit.waits(1, 6)], running)) == [WakeAt(40.0)]
    assert kit.answer(WaterFilling(), kit.state(8, (), running, ENDED)) == [WakeAt(40.0)]
    assert kit.answer(WaterFilling(), kit.state(6, (), running, ENDED)) == []


@pytest.mark.parametrize("limit", [math.inf, 7200.0], ids=["without limit", "by its limit"])
def test_what_nothing_is_known_of_is_guessed(kit: Any, limit: float) -> None:
    """As running since its start at Amdahl's law; so it grows, and a queued one starts large."""
    running = [kit.runs(8, 4, 4, 16, started=0.0, acted=-math.inf, end=limit)]
    assert kit.answer(WaterFilling(), kit.state(12, (), running, ENDED)) == [Grow(8, 12)]
    assert kit.answer(WaterFilling(), kit.state(12, [kit.waits(1, 2, 8, limit=limit)])) == [Start(1, 8)]


@pytest.mark.parametrize(
    ("donors", "given"),
    [
        pytest.param("any", [Shrink(2, 6)], id="any: it is almost through"),
        pytest.param("behind", [Shrink(9, 6)], id="behind: job 2 stands before it"),
    ],
)
def test_who_may_be_a_donor_is_a_setting(kit: Any, donors: str, given: list[Shrink]) -> None:
    running = [
        kit.runs(2, 8, 2, 8, estimate=kit.Amdahl(0, LONG), remaining=0.1, measured=0.0),
        kit.runs(9, 8, 2, 8, estimate=kit.Amdahl(0, LONG), remaining=1.0, measured=0.0),
    ]
    state = kit.state(16, [kit.waits(5, 2)], running)
    assert kit.answer(WaterFilling(donors=donors), state)[:1] == given
    too_much = kit.state(16, [kit.waits(5, 7)], running)
    starts = [each for each in kit.answer(WaterFilling(donors=donors), too_much) if isinstance(each, Start)]
    assert len(starts) == (donors == "any"), "those behind have 6 to give"


def test_by_order_the_highest_priority_gets_it(kit: Any) -> None:
    """Though a unit saves more in the other."""
    records = [
        kit.runs(1, 4, 2, 8, priority=9, estimate=kit.Amdahl(0, STEEP), remaining=1.0),
        kit.runs(2, 4, 2, 8, priority=10, estimate=kit.Amdahl(0, LONG), remaining=1.0),
    ]
    state = kit.state(12, (), records, ENDED)
    assert kit.answer(WaterFilling(objective="order"), state) == [Grow(2, 8)]
