"""Where a reader goes on: `after` of the query, or `Last-Event-ID` (HTML, 9.2.4). Pure."""

from __future__ import annotations

import re

from restful.errors import FieldError, HttpProblem

START = -1
"""The position in front of everything."""
END_ID = "end"
"""The id of the last event of a stream. A browser that comes back with it gets 204 and comes no more."""

_NUMBER = re.compile(r"[0-9]{1,16}")


class AtEnd(Exception):  # noqa: N818 - named for what is so
    """The reader has had the end already."""


def position(after: str | None, last_event_id: str | None) -> int:
    """Return the entry behind which a reader goes on. Raises AtEnd, HttpProblem.

    `Last-Event-ID` counts where both are given: a browser that connects again sends it with the same address
    as before. An empty one is none, as in a browser that has had no id.
    """
    if last_event_id:
        return _number(last_event_id, "Last-Event-ID")
    return START if after is None else _number(after, "after")


def _number(text: str, name: str) -> int:
    if text == END_ID:
        raise AtEnd
    if text == str(START):
        return START
    if _NUMBER.fullmatch(text) is None:
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        words = f"{name} is {shown!r}: send the id of the last event, a number, or leave it out."
        raise HttpProblem("malformed", words, (FieldError(name, "is no id of an event"),))
    return int(text)
