"""Cursors: read as written, with the same filters alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restful.errors import HttpProblem
from restful.jobs.cursor import Cursors, PagePosition

CURSORS = Cursors(b"k" * 32)
FILTERS = some.lists(some.text(max_size=5), max_size=4)
POSITIONS = some.builds(PagePosition, some.floats(0, 1e12), some.integers(0, 2**63 - 1))


@given(POSITIONS, FILTERS)
def test_a_cursor_is_read_as_it_was_written(position: PagePosition, filters: list[str]) -> None:
    assert CURSORS.read(CURSORS.write(position, filters), filters) == position


@given(POSITIONS, FILTERS, FILTERS)
def test_a_cursor_of_other_filters_is_refused(
    position: PagePosition, mine: list[str], others: list[str]
) -> None:
    cursor = CURSORS.write(position, mine)
    if mine == others:
        assert math.isfinite(CURSORS.read(cursor, others).t_listed)
        return
    with pytest.raises(HttpProblem, match="with the same filters as before"):
        CURSORS.read(cursor, others)


@given(some.text(max_size=60))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(HttpProblem) as raised:
        CURSORS.read(text, [])
    assert raised.value.status == 400


def test_a_cursor_of_another_service_is_refused() -> None:
    with pytest.raises(HttpProblem, match="cursor"):
        Cursors(b"o" * 32).read(CURSORS.write(PagePosition(1.0, 2), []), [])
