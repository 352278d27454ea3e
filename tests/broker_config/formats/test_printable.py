"""Text of others that is shown: nothing in it moves a cursor or begins a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats.printable import few, printable, printable_lines

SHOWN = {
    "plain": ("mc-1: ƒ4MrScDd → 4 brokers", "mc-1: ƒ4MrScDd → 4 brokers"),
    "empty": ("", ""),
    "escape": ("\x1b[31mred", r"\x1b[31mred"),
    "eight bits": ("\x9b31mred", r"\x9b31mred"),
    "line break": ("a\nb\r\tc", r"a\nb\r\tc"),
    "right to left": ("\u202egnp.exe", r"\u202egnp.exe"),
    "half of a pair": ("\ud800", r"\ud800"),
    "a tag": ("\U000e0001", r"\U000e0001"),
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_stay_lines() -> None:
    assert printable_lines("a\x1b\n\nb\r\n") == "a\\x1b\n\nb\\r\n"


@given(st.text())
def test_the_result_is_printable(text: str) -> None:
    assert printable(text).isprintable()


@pytest.mark.parametrize(
    ("count", "shown"), [(0, ""), (1, "a"), (2, "a, b"), (3, "a, b and 1 more"), (5, "a, b and 3 more")]
)
def test_a_few_of_many_names(count: int, shown: str) -> None:
    assert few("abcde"[:count], 2) == shown
