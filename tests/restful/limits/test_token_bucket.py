"""Token buckets: never more than the rate allows, and all of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from restful.limits.token_bucket import Rates


@given(some.lists(some.floats(0, 3), max_size=60), some.integers(1, 10), some.floats(0.5, 20))
def test_no_window_has_more_than_burst_and_rate(gaps: list[float], burst: int, rate: float) -> None:
    rates, now, passed = Rates(rate, burst, 10), 0.0, list[float]()
    for gap in gaps:
        now += gap
        if rates.take("u", now).allowed:
            passed.append(now)
    for first, begin in enumerate(passed):
        for last in range(first, len(passed)):
            assert last - first + 1 <= burst + rate * (passed[last] - begin) + 1e-6


@given(some.integers(1, 10), some.floats(0.5, 20))
def test_after_the_wait_that_was_named_a_request_passes(burst: int, rate: float) -> None:
    rates = Rates(rate, burst, 10)
    taken = [rates.take("u", 0.0) for _ in range(burst + 1)]
    assert [each.allowed for each in taken] == [True] * burst + [False]
    assert rates.take("u", taken[-1].wait + 1e-6).allowed


def test_users_do_not_take_from_each_other() -> None:
    rates = Rates(1.0, 1, 10)
    assert [rates.take(user, 0.0).allowed for user in ("a", "b", "a")] == [True, True, False]


def test_a_clock_that_steps_back_gives_nothing() -> None:
    rates = Rates(1.0, 1, 10)
    rates.take("u", 100.0)
    assert not rates.take("u", 50.0).allowed


def test_the_user_who_asked_longest_ago_is_forgotten() -> None:
    rates = Rates(1.0, 1, 2)
    for user in ("a", "b", "a", "c"):
        rates.take(user, 0.0)
    assert len(rates) == 2
    assert not rates.take("a", 0.0).allowed
    assert rates.take("b", 0.0).allowed
