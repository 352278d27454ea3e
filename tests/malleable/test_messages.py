"""Lines: what is written is read again, and what is wrong says how."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.malleable import messages
from minicluster.malleable.errors import ProtocolError
from minicluster.malleable.lines import Lines
from minicluster.malleable.messages import Member, encode, parse_to_instance, parse_to_program

NUMBERS = st.integers(0, 10_000)
TEXTS = st.text(max_size=20)
MEMBERS = st.lists(st.builds(Member, NUMBERS, TEXTS, TEXTS), max_size=4).map(tuple)
TO_INSTANCE = st.one_of(
    st.builds(messages.Register, st.just(1), TEXTS, TEXTS),
    st.builds(messages.Join, st.just(1), TEXTS, TEXTS, NUMBERS, NUMBERS, TEXTS),
    st.builds(messages.Accept, NUMBERS),
    st.builds(messages.Refuse, NUMBERS, TEXTS),
    st.builds(messages.Done, NUMBERS),
    st.builds(messages.Release, NUMBERS, st.lists(NUMBERS, max_size=4).map(tuple)),
    st.builds(messages.Progress, st.floats(0, 1)),
    st.builds(messages.Deregister),
)
TO_PROGRAM = st.one_of(
    st.builds(messages.Hello, NUMBERS, TEXTS),
    st.builds(messages.Registered, NUMBERS, NUMBERS, NUMBERS, MEMBERS),
    st.builds(messages.Grow, NUMBERS, st.lists(TEXTS, max_size=4).map(tuple), NUMBERS),
    st.builds(messages.Shrink, NUMBERS, NUMBERS, NUMBERS),
    st.builds(messages.Joined, NUMBERS, MEMBERS),
    st.builds(messages.Released, NUMBERS),
    st.builds(messages.Expired, NUMBERS, TEXTS),
    st.builds(messages.Error, TEXTS),
)


@given(TO_INSTANCE)
def test_what_a_program_writes_is_read(message: messages.ToInstance) -> None:
    assert parse_to_instance(encode(message)) == message


@given(TO_PROGRAM)
def test_what_an_instance_writes_is_read(message: messages.ToProgram) -> None:
    assert parse_to_program(encode(message)) == message


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_protocol_error(line: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        assert encode(parse_to_instance(line))


def test_a_line_is_one_line() -> None:
    assert encode(messages.Refuse(7, "two\nlines")).count(b"\n") == 1


def test_fields_of_a_later_version_are_ignored() -> None:
    line = b'{"type":"done","order":7,"weather":"fine"}'
    assert parse_to_instance(line) == messages.Done(7)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b"grow!", "a line is not JSON", id="no JSON"),
        pytest.param(b"[" * 60000, "a line is not JSON", id="nested for ever"),
        pytest.param(b"7", "a line is not a JSON object", id="no object"),
        pytest.param(b"{}", "unknown type 'None'; known are register, join, accept", id="no type"),
        pytest.param(b'{"type":[]}', "unknown type", id="type of a wrong kind"),
        pytest.param(b'{"type":"grow","order":7}', "unknown type 'grow'", id="what only an instance says"),
        pytest.param(b'{"type":"done"}', "done: order: expected a whole number, found null", id="missing"),
        pytest.param(
            b'{"type":"done","order":true}', "done: order: expected a whole number, found true", id="truth"
        ),
        pytest.param(b'{"type":"done","order":-1}', "expected a whole number, found -1", id="negative"),
        pytest.param(
            b'{"type":"release","order":1,"workers":5}', "release: workers: expected a list", id="no list"
        ),
        pytest.param(b'{"type":"progress","share":1.5}', "expected a number from 0 to 1", id="beyond"),
        pytest.param(b'{"type":"progress","share":NaN}', "expected a number from 0 to 1", id="not a number"),
        pytest.param(
            b'{"type":"register","version":2,"job":"f","mac":"0"}',
            "register: version 2 is not spoken here, 1 is",
            id="version",
        ),
        pytest.param(None, "a line is longer than 65536 bytes", id="too long"),
    ],
)
def test_what_is_wrong_with_a_line_is_reported(line: bytes | None, reason: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        parse_to_instance(line)
    assert reason in str(raised.value)


def test_workers_of_the_instance_are_checked_too() -> None:
    line = json.dumps({"type": "joined", "order": 1, "workers": [{"task": 1}]}).encode()
    with pytest.raises(ProtocolError, match="joined: workers: expected a list of workers"):
        parse_to_program(line)


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=6), st.data())
def test_lines_come_out_however_they_were_cut(wanted: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in wanted)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    lines, found = Lines(20), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += lines.feed(stream[start:end])
    assert found == wanted


def test_a_line_over_the_limit_is_dropped_and_the_next_one_read() -> None:
    lines = Lines(10)
    assert lines.feed(b"x" * 11) == [None]
    assert lines.feed(b"xxx\nnext\n") == [b"next"]


def test_a_line_without_end_takes_no_memory() -> None:
    lines = Lines(10)
    assert [lines.feed(b"x" * 15) for _ in range(3)] == [[None]] * 3
