"""Events are read as the HTML Living Standard has it, section 9.2.6, however their bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.client.event_stream import EventParser, ServerEvent

EXAMPLES = [
    pytest.param(
        b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")], id="data of several lines"
    ),
    pytest.param(
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [("message", "first event", "1"), ("message", "second event", ""), ("message", " third event", "")],
        id="the standard's own example of ids",
    ),
    pytest.param(
        b"data\n\ndata\ndata\n\ndata:", [("message", "", ""), ("message", "\n", "")], id="data without value"
    ),
    pytest.param(b"event: end\ndata: {}\n\n", [("end", "{}", "")], id="a name"),
    pytest.param(b"event: end\n\ndata: x\n\n", [("message", "x", "")], id="a name without data is dropped"),
    pytest.param(b"id: 7\n\ndata: x\n\n", [("message", "x", "7")], id="an id without data counts"),
    pytest.param(b"id: 7\0\ndata: x\n\n", [("message", "x", "")], id="an id with NUL does not"),
    pytest.param(b"\xef\xbb\xbfdata: x\n\n", [("message", "x", "")], id="a byte order mark"),
    pytest.param(b"data: a\r\ndata: b\rdata: c\n\r\n", [("message", "a\nb\nc", "")], id="every line's end"),
    pytest.param(b"data: x\n", [], id="an event without its end"),
    pytest.param(b"colour: red\ndata: x\n\n", [("message", "x", "")], id="an unknown field"),
    pytest.param(b"data: \xff\n\n", [("message", "�", "")], id="no UTF-8"),
]


def _parsed(stream: bytes) -> list[ServerEvent]:
    return list(EventParser().feed(stream))


@pytest.mark.parametrize(("stream", "expected"), EXAMPLES)
def test_events_are_read(stream: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert _parsed(stream) == [ServerEvent(*each) for each in expected]


STREAMS = st.sampled_from([example.values[0] for example in EXAMPLES])


@given(STREAMS, st.lists(st.integers(0, 80)))
def test_cuts_change_nothing(stream: bytes, cuts: list[int]) -> None:
    parser = EventParser()
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    parts = [stream[start:stop] for start, stop in pairwise(edges)]
    assert [event for part in parts for event in parser.feed(part)] == _parsed(stream)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        pytest.param(b"retry: 2000\n", 2.0, id="milliseconds"),
        pytest.param(b"retry: 2s\n", None, id="no number"),
        pytest.param(b"retry: 9999999999\n", None, id="a number of months"),
    ],
)
def test_the_delay_is_the_services(line: bytes, seconds: float | None) -> None:
    parser = EventParser()
    assert (list(parser.feed(line)), parser.retry) == ([], seconds)


def test_what_is_not_whole_is_dropped_with_its_connection() -> None:
    parser = EventParser()
    events = [*parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")]
    parser.reset()
    events += parser.feed(b"data: c\n\n")
    assert events == [ServerEvent("message", "a", "1"), ServerEvent("message", "c", "1")]
