"""The three forms of output: no byte is lost in events and lines of JSON, and no character in text."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.client.event_stream import EventParser
from minicluster.instance.records import Job, JobException, JobResult, JobState, OutputChunk
from restful.jobs.output import sse
from restful.jobs.output.encoders import PART_BYTES, JsonLinesEncoder, SseEncoder, TextEncoder
from restful.jobs.output.endings import EndReason, FeedEnd
from restful.jobs.output.entries import FeedEntry, Grouping
from restful.jobs.output.selection import ChunkSelection

EVERYTHING = ChunkSelection()
DATA = st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode))
PART = st.tuples(st.integers(0, 3), st.sampled_from(["stdout", "stderr"]), DATA)
PARTS = st.lists(PART, min_size=1, max_size=4)


def entry(sequence: int, *parts: tuple[int, str, bytes]) -> FeedEntry[OutputChunk]:
    grouping, found = Grouping(), None
    for number, (task, stream, data) in enumerate(parts, 1):
        found = grouping(OutputChunk(1, sequence, task, stream, data, last=number == len(parts)))
    assert found is not None
    return found


def _bytes_of(data: dict[str, str]) -> bytes:
    return data["text"].encode() if "text" in data else base64.b64decode(data["base64"])


def _joined(parts: list[tuple[int, str, bytes]]) -> dict[tuple[int, str], bytes]:
    found: dict[tuple[int, str], bytes] = {}
    for task, stream, data in parts:
        found[task, stream] = found.get((task, stream), b"") + data
    return found


@given(st.lists(PARTS, max_size=5))
def test_events_have_every_byte(entries: list[list[tuple[int, str, bytes]]]) -> None:
    encoder, parser = SseEncoder(EVERYTHING, 2.0), EventParser()
    written = b"".join(b for n, parts in enumerate(entries) for b in encoder.entry(entry(n, *parts)))
    events = [(event.name, json.loads(event.data)) for event in parser.feed(written)]
    assert _joined([(data["task"], name, _bytes_of(data)) for name, data in events]) == _joined(
        [part for parts in entries for part in parts]
    )
    assert parser.last_event_id == (str(len(entries) - 1) if entries else "")


@given(st.lists(PARTS, max_size=5))
def test_lines_of_json_have_every_byte(entries: list[list[tuple[int, str, bytes]]]) -> None:
    encoder = JsonLinesEncoder(EVERYTHING)
    written = b"".join(b for n, parts in enumerate(entries) for b in encoder.entry(entry(n, *parts)))
    lines = [json.loads(line) for line in written.splitlines()]
    assert _joined([(line["task"], line["event"], _bytes_of(line)) for line in lines]) == _joined(
        [part for parts in entries for part in parts]
    )


@given(PARTS)
def test_the_id_comes_with_the_last_event_of_an_entry_alone(parts: list[tuple[int, str, bytes]]) -> None:
    events = list(SseEncoder(EVERYTHING, 2.0).entry(entry(5, *parts)))
    assert [b"\nid: 5\n" in event for event in events] == [False] * (len(events) - 1) + [True]


@given(st.text(max_size=60), st.lists(st.integers(0, 240)))
def test_text_is_whole_however_its_chunks_are_cut(text: str, cuts: list[int]) -> None:
    """Two tasks write the same at the same time, cut at the same bytes."""
    data, encoder = text.encode(), TextEncoder(EVERYTHING)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [data[start:stop] for start, stop in pairwise(edges)]
    written = {0: b"", 1: b""}
    for number, part in enumerate(parts):
        for task in written:
            written[task] += b"".join(encoder.entry(entry(number, (task, "stdout", part))))
    assert written == {0: data, 1: data}
    assert encoder.end(FeedEnd(EndReason.READ)) == b""


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param([b"a\xffb"], "a�b", id="no UTF-8"),
        pytest.param([b"\xe2\x82"], "�", id="a character without its end"),
        pytest.param([b"\xe2\x82", b"\xac"], "€", id="a character that is cut"),
    ],
)
def test_text_shows_what_is_no_text(chunks: list[bytes], expected: str) -> None:
    encoder = TextEncoder(EVERYTHING)
    written = b"".join(
        part
        for number, data in enumerate(chunks)
        for part in encoder.entry(entry(number, (0, "stdout", data)))
    )
    assert (written + encoder.end(FeedEnd(EndReason.READ))).decode() == expected


def test_a_cut_character_is_base64_in_both_events() -> None:
    """So an event can be read without the one before it, which a reader who resumes does not have."""
    encoder = SseEncoder(EVERYTHING, 2.0)
    written = [
        b"".join(encoder.entry(entry(n, (0, "stdout", data))))
        for n, data in enumerate([b"\xe2", b"\x82\xac"])
    ]
    assert written == [
        b'event: stdout\ndata: {"task":0,"base64":"4g=="}\nid: 0\n\n',
        b'event: stdout\ndata: {"task":0,"base64":"gqw="}\nid: 1\n\n',
    ]


@pytest.mark.parametrize(
    "data", [b"x" * (3 * PART_BYTES + 1), b"\xff" * (3 * PART_BYTES + 1)], ids=["text", "base64"]
)
def test_a_large_chunk_is_several_events(data: bytes) -> None:
    events = list(SseEncoder(EVERYTHING, 2.0).entry(entry(0, (0, "stdout", data))))
    assert len(events) == 4
    assert max(map(len, events)) <= PART_BYTES * 4 // 3 + 200
    found = [json.loads(event.data) for event in EventParser().feed(b"".join(events))]
    assert b"".join(map(_bytes_of, found)) == data


CANCELED = Job(
    7,
    JobState.INACTIVE,
    JobResult.CANCELED,
    exception=JobException("cancel", 0, "no \ud800 more\n\n: <img onerror>"),
)


def test_the_end_has_how_the_job_ended_and_its_new_id() -> None:
    """A note is whatever a user wrote: line ends and lone surrogates do not end an event."""
    written = SseEncoder(EVERYTHING, 2.0).end(FeedEnd(EndReason.ENDED, CANCELED, successor=2**55 + 1))
    moved, end = EventParser().feed(written)
    assert (moved.name, json.loads(moved.data)) == ("moved", {"id": 2**55 + 1, "f58": "ƒ5rLWQQkJdn"})
    assert (moved.id, end.id) == ("", "end")
    assert (end.name, json.loads(end.data)) == (
        "end",
        {
            "state": "inactive",
            "result": "canceled",
            "returncode": -128,
            "exception": {"type": "cancel", "severity": 0, "note": "no \ud800 more\n\n: <img onerror>"},
        },
    )


@pytest.mark.parametrize("reason", [EndReason.READ, EndReason.AWAY, EndReason.GONE, EndReason.CLOSED])
def test_no_other_end_is_taken_for_the_jobs(reason: EndReason) -> None:
    assert SseEncoder(EVERYTHING, 2.0).end(FeedEnd(reason)) == b""


@pytest.mark.parametrize("text", ["a\nid: 1", "a\r", "a\0"])
def test_a_name_cannot_begin_another_line(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name or the id"):
        sse.event("", name=text)
