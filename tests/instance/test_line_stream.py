"""Streams at the far end of a link in lines: no more items than the reader has room for."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from minicluster.broker_link.line_stream import StreamCall

NO_DATA = {"id": 7, "errnum": errno.ENODATA, "errstr": "No data available"}


def item(payload: Any) -> dict[str, Any]:
    return {"id": 7, "payload": payload}


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def call(lines: list[dict[str, Any]]) -> StreamCall:
    """It has room for two items, and three come."""
    made = StreamCall({"id": 7, "credit": 2}, lines.append)
    for number in range(3):
        made.item(number)
    return made


def test_what_there_is_no_room_for_is_buffered(call: StreamCall, lines: list[dict[str, Any]]) -> None:
    assert lines == [item(0), item(1)]
    assert (call.buffered, call.has_room) == (1, False)


def test_it_comes_when_there_is_room(call: StreamCall, lines: list[dict[str, Any]]) -> None:
    call.credit(2)
    assert lines[2:] == [item(2)]
    assert (call.buffered, call.has_room) == (0, True)


def test_the_end_comes_behind_what_is_buffered(call: StreamCall, lines: list[dict[str, Any]]) -> None:
    """And needs no room itself."""
    call.stop(errno.EPERM, "not yours")
    assert (call.is_stopped, call.ended) == (True, False)
    call.credit(1)
    assert lines[2:] == [item(2), {"id": 7, "errnum": errno.EPERM, "errstr": "not yours"}]
    assert call.ended


@pytest.mark.parametrize("stopped", [False, True])
def test_a_reader_who_cancels_gets_no_more_than_that(
    call: StreamCall, lines: list[dict[str, Any]], stopped: bool
) -> None:
    """Also where the stream has ended, and the reader has yet to hear it."""
    if stopped:
        call.stop(errno.EPERM)
    call.cancel()
    call.cancel()
    call.item(3)
    call.stop(errno.EPERM)
    call.credit(10)
    assert lines[2:] == [NO_DATA]
    assert not call.has_room


def test_a_request_that_names_no_credit_has_room_for_one(lines: list[dict[str, Any]]) -> None:
    call = StreamCall({"id": 7}, lines.append)
    call.item("a")
    call.item("b")
    assert lines == [item("a")]


def test_events_that_wait_become_one_item(lines: list[dict[str, Any]]) -> None:
    call = StreamCall({"id": 7, "credit": 1}, lines.append)
    assert not call.append("a", 3), "nothing waits"
    for event in ("a", "b"):
        call.item({"event": event})
    assert call.append("c", 3)
    assert not call.append("de", 3), "it would be too long"
    call.item({"event": None})
    assert not call.append("f", 3), "what waits last is no event"
    call.credit(2)
    assert lines == [item({"event": each}) for each in ("a", "bc", None)]
