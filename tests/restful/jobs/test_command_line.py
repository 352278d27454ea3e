"""A command's text is split as shlex does it, in steps that grow with the text and not with its square."""

import shlex
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.compat.refusals import CompatRefusal
from restful.compat.submission import submission
from restful.errors import HttpProblem
from restful.jobs.command_line import MAX_BYTES, split
from restful.page import submission_form

LIMIT = 128 << 10
TOO_LONG = "cannot be split into words: it has 1048576 bytes; the limit is 131072"
HOSTILE = ("a", "a ", "''", '""', '"\\"', "\\a", "'a'b", " ", '"\\a\\"b" ')


@given(st.text(alphabet="ab \t\r\n'\"\\#\0é\u2003;|$", max_size=12))
def test_the_words_are_those_of_shlex(text: str) -> None:
    assert _outcome(split, text) == _outcome(shlex.split, text)


def _outcome(function: Callable[[str], list[str]], text: str) -> list[str] | str:
    try:
        return function(text)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("part", HOSTILE)
def test_the_longest_text_is_split_in_few_steps(part: str) -> None:
    text = part * (LIMIT // len(part))
    steps = 0

    def count(_: FrameType, event: str, __: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        words = split(text)
    except ValueError:
        words = []
    finally:
        sys.settrace(before)
    assert sum(map(len, words)) <= len(text)
    assert 0 < steps <= 12 * LIMIT


def test_a_text_beyond_the_limit_is_refused_before_it_is_split() -> None:
    assert MAX_BYTES == LIMIT
    word = "a" * (1 << 20)
    with pytest.raises(CompatRefusal) as refused:
        submission({"command": word})
    assert refused.value.errors == (f"'command' {TOO_LONG}",)
    with pytest.raises(HttpProblem) as invalid:
        submission_form.submission({**submission_form.empty(), "command": word})
    assert invalid.value.errors[0].message == TOO_LONG


def test_bytes_are_counted_and_not_characters() -> None:
    assert split("é" * (LIMIT // 2)) == ["é" * (LIMIT // 2)]
    with pytest.raises(ValueError, match=f"it has {LIMIT + 2} bytes"):
        split("é" * (LIMIT // 2 + 1))
