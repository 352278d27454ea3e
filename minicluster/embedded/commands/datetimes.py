"""Times as users write them for `--begin-time` and `--since`: +1h, 15:30, 3pm, tomorrow 9:00."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, time, timedelta

from broker_config.formats.durations import seconds
from minicluster.embedded.commands.console import fail

_CLOCK = re.compile(r"(\d{1,2})(?=:| ?[ap]m)(?::(\d\d)(?::(\d\d))?)? ?(am|pm)?")
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WORDS = {"noon": "12:00", "midnight": "0:00"}


def timestamp(text: str, now: datetime) -> float:
    """Return the seconds since 1970 of a time; one without a day is today's, as with Flux.

    Raises ValueError where the text is no time.
    """
    if text == "now":
        return now.timestamp()
    if text[:1] in ("+", "-"):
        offset = seconds(text[1:])
        return now.timestamp() + (offset if text[0] == "+" else -offset)
    return _moment(text.strip().lower(), now).timestamp()


def wanted(text: str) -> float:
    """Return the time that an option gives, or end the command."""
    try:
        return timestamp(text, datetime.now().astimezone())
    except ValueError as error:
        fail(str(error))


def _moment(text: str, now: datetime) -> datetime:
    """Return a day, a time of day, or both, with the zone of this machine."""
    first, _, rest = text.partition(" ")
    if first in _DAYS:
        day = now.date() + timedelta(days=_DAYS[first])
        return datetime.combine(day, _clock(rest, text) if rest else time(0)).astimezone()
    try:
        return datetime.fromisoformat(text.upper()).astimezone()
    except ValueError:
        return datetime.combine(now.date(), _clock(text, text)).astimezone()


def _clock(text: str, whole: str) -> time:
    found = _CLOCK.fullmatch(_WORDS.get(text, text))
    if found is not None:
        hour, minute, second, half = found.groups(default="")
        with suppress(ValueError):  # 25:00
            hours = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
            return time(hours, int(minute or 0), int(second or 0))
    right = "right are +1h, 15:30, 3pm, tomorrow 9:00, 2031-01-02 18:00"
    raise ValueError(f'Invalid datetime: "{whole}"; {right}')
