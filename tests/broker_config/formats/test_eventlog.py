"""Eventlogs (RFC 18)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import eventlog

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    max_leaves=8,
)


@given(st.floats(1, 1e12), st.text(min_size=1), st.dictionaries(st.text(), VALUES))
def test_an_event_is_one_line_that_comes_back(t: float, name: str, context: dict[str, Any]) -> None:
    entry = eventlog.event(t, name, context)
    line = eventlog.encode(entry)
    assert "\n" not in line
    assert eventlog.decode(line) == entry == json.loads(line)
    assert list(eventlog.events(f"{line}\n{line}\n")) == [entry, entry]
    assert eventlog.context(entry) == context


@pytest.mark.parametrize("mark", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_a_newline_alone_ends_a_line(mark: str) -> None:
    """Python's `splitlines` knows more marks, which may stand in a text."""
    entry = eventlog.event(1.0, "memo", {"text": f"a{mark}b"})
    assert list(eventlog.events(eventlog.encode(entry) + "\n")) == [entry]


def test_as_flux_writes_it() -> None:
    entry = eventlog.event(1.5, "dependency-add", {"description": "after-finish=ƒ1"})
    expected = '{"timestamp":1.5,"name":"dependency-add","context":{"description":"after-finish=ƒ1"}}'
    assert eventlog.encode(entry) == expected


def test_bytes_that_are_no_text_are_escaped() -> None:
    line = eventlog.encode(eventlog.event(1.0, "x", {"note": "\udcff"}))
    assert line.isascii()
