"""How long one waits after wrong passwords."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import backoff
from restful.identity.backoff import LoginFailures

TIMES = st.floats(1e9, 2e9)


def test_the_waits_double_up_to_a_quarter_of_an_hour() -> None:
    waits = [backoff.delay(count) for count in range(13)]
    assert waits == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]


@given(st.integers(0, 10**9))
def test_a_wait_has_a_bound(count: int) -> None:
    assert 0 <= backoff.delay(count) <= backoff.MAX_DELAY


def test_wrong_passwords_one_after_another() -> None:
    failures, now, waits = LoginFailures(), 1000.0, []
    for _ in range(4):
        failures = backoff.failed(backoff.counted(failures, now), now)
        waits.append(backoff.wait(failures, now))
        now = failures.next_at
    assert waits == [1, 2, 4, 8]


def test_of_attempts_at_once_two_are_checked() -> None:
    now = 1000.0
    second = backoff.counted(backoff.counted(LoginFailures(), now), now)
    assert backoff.wait(second, now) == 1


def test_an_attempt_that_has_to_wait_is_not_counted() -> None:
    with pytest.raises(ValueError, match="an attempt that has to wait is not counted"):
        backoff.counted(LoginFailures(3, 1004.0), 1000.0)


@given(st.integers(1, 50), TIMES)
def test_after_an_hour_the_count_starts_anew(count: int, now: float) -> None:
    later = now + backoff.FORGET_AFTER + 1
    assert backoff.counted(LoginFailures(count, now), later) == LoginFailures(1, later)


@given(st.integers(0, 50), TIMES)
def test_a_success_takes_back_its_own_attempt_alone(count: int, now: float) -> None:
    before = LoginFailures(count, now)
    after = backoff.forgiven(backoff.counted(before, now), now)
    assert after.count == before.count
    assert backoff.wait(after, now) <= backoff.delay(count)


@given(st.lists(st.tuples(st.floats(0, 5000), st.booleans()), max_size=30))
def test_a_guesser_is_never_faster_than_the_waits(steps: list[tuple[float, bool]]) -> None:
    """Whatever he does, between two failures at a count there is the wait of that count."""
    failures, now = LoginFailures(), 1e9
    for gap, patient in steps:
        now = max(now + gap, failures.next_at if patient else 0)
        if backoff.wait(failures, now) == 0:
            failures = backoff.failed(backoff.counted(failures, now), now)
            assert backoff.wait(failures, now) == backoff.delay(failures.count) > 0
