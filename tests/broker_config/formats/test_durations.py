"""Durations of RFC 23, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import durations
from broker_config.formats.errors import DurationError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5.0), ("5s", 5.0), ("100ms", 0.1), ("1.5m", 90.0), ("2h", 7200.0), ("1d", 86400.0), ("0", 0.0)],
)
def test_seconds(text: str, seconds: float) -> None:
    assert durations.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "x", "-1", "1w", "nan", "inf", "1 h m"])
def test_no_duration(text: str) -> None:
    with pytest.raises(DurationError, match="invalid Flux standard duration"):
        durations.seconds(text)


@pytest.mark.parametrize(("text", "seconds"), [("5", 300.0), ("1.", 60.0), ("5s", 5.0), ("2h", 7200.0)])
def test_a_number_without_a_unit_is_one_of_the_given(text: str, seconds: float) -> None:
    assert durations.seconds(text, 60.0) == pytest.approx(seconds)
    assert durations.given(text, 60.0) == pytest.approx(seconds)


def test_what_a_user_gave_is_quoted() -> None:
    with pytest.raises(DurationError) as refusal:
        durations.given("5 parsecs")
    assert str(refusal.value) == "'5 parsecs' is no duration; right would be 30s, 5m, 1.5h or 2d"


def test_of_a_long_text_the_beginning_is_quoted() -> None:
    with pytest.raises(DurationError) as refusal:
        durations.given("9" * 40 + "x" * 1000)
    assert len(str(refusal.value)) < 100


@given(st.floats(0.01, 1e8))
def test_written_and_read_again_it_is_nearly_the_same(seconds: float) -> None:
    """The form for people has three or four digits."""
    assert durations.seconds(durations.encode(seconds)) == pytest.approx(seconds, rel=0.06)
