"""Times as users write them: real Flux 0.88 reads them so at the same moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.commands.datetimes import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime(2026, 11, 25, 2, 8, 54, tzinfo=UTC)
MIDNIGHT = 1_795_564_800.0
HOUR, DAY = 3600, 86400


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("now", NOW.timestamp()),
        ("+90s", NOW.timestamp() + 90),
        ("-1h", NOW.timestamp() - HOUR),
        ("3pm", MIDNIGHT + 15 * HOUR),
        ("3 PM", MIDNIGHT + 15 * HOUR),
        ("12am", MIDNIGHT),
        ("1am", MIDNIGHT + HOUR),
        ("9:30", MIDNIGHT + 9.5 * HOUR),
        ("10:20:30", MIDNIGHT + 10 * HOUR + 20 * 60 + 30),
        ("noon", MIDNIGHT + 12 * HOUR),
        ("midnight", MIDNIGHT),
        ("today", MIDNIGHT),
        ("Today 4pm", MIDNIGHT + 16 * HOUR),
        ("tomorrow", MIDNIGHT + DAY),
        ("tomorrow 1:00", MIDNIGHT + DAY + HOUR),
        ("2031-01-02 10:20", 1_925_115_600.0),
    ],
)
def test_times(text: str, when: float) -> None:
    assert timestamp(text, NOW) == when


def test_a_date_begins_at_midnight_and_the_standard_form_is_read() -> None:
    """Real Flux takes the time of day that it is, and reads 2031-01-02T10:20:30 as today's 20:31."""
    assert timestamp("2031-01-02", NOW) == 1_925_078_400.0
    assert timestamp("2031-01-02T10:20:30", NOW) == 1_925_115_630.0


@pytest.mark.parametrize(
    "text", ["nope", "", "25:00", "7", "9:75", "13:00pm am", "tomorrow nope", "1795572534"]
)
def test_what_is_no_time_names_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid datetime") as error:
        timestamp(text, NOW)
    right = "right are +1h, 15:30, 3pm, tomorrow 9:00, 2031-01-02 18:00"
    assert str(error.value) == f'Invalid datetime: "{text}"; {right}'
