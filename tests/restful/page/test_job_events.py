"""A job's events in words."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.instance.records import Event
from restful.page.job_events import MAX_DETAIL, shown


def event(name: str, **context: Any) -> Event:
    return Event(1, 2.5, name, context)


@pytest.mark.parametrize(
    ("given", "title", "detail"),
    [
        pytest.param(event("submit", userid=7, urgency=16, flags=0), "Submitted", "urgency: 16", id="submit"),
        pytest.param(event("finish", status=768), "Tasks ended", "exit code 3", id="an exit code"),
        pytest.param(event("finish", status=15), "Tasks ended", "ended by signal 15", id="a signal"),
        pytest.param(event("finish"), "Tasks ended", "", id="no status"),
        pytest.param(
            event("exception", type="cancel", severity=0, note="enough"),
            "Exception",
            "cancel: enough",
            id="an exception",
        ),
        pytest.param(
            event("exception", type="cancel"), "Exception", "cancel", id="an exception without words"
        ),
        pytest.param(event("new.thing", a=[1], b="x"), "new.thing", "a: [1], b: x", id="an unknown event"),
    ],
)
def test_an_event_in_words(given: Event, title: str, detail: str) -> None:
    (found,) = shown([given])
    assert (found.at, found.name, found.title, found.detail) == (2.5, given.name, title, detail)


def test_what_means_nothing_to_people_is_left_out() -> None:
    assert shown([event("annotations", annotations={}), event("debug.free-request")]) == []


def test_a_long_detail_is_cut() -> None:
    (found,) = shown([event("memo", text="x" * 1000)])
    assert len(found.detail) == MAX_DETAIL + 1
