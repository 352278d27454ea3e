"""Wrong values of options, in plain words and not in those of the library that parses them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import typer

Details = Mapping[str, Any]
CLOSE = 0.75
"""Of the letters of two options: the part that they share at least if one is suggested for the other."""

_WORDS: dict[str, Callable[[Details], str]] = {
    "int_parsing": lambda found: f"{found['input']!r} is no whole number",
    "int_from_float": lambda found: f"{found['input']!r} is no whole number",
    "float_parsing": lambda found: f"{found['input']!r} is no number",
    "bool_parsing": lambda found: f"{found['input']!r} is neither true nor false",
    "greater_than_equal": lambda found: f"{found['input']} is too small; the least is {found['ctx']['ge']}",
    "less_than_equal": lambda found: f"{found['input']} is too large; the most is {found['ctx']['le']}",
}
"""By the kinds of errors that pydantic, which typer parses values with, finds in options."""


@contextlib.contextmanager
def reworded() -> Iterator[None]:
    """Raise the block's BadParameter with plain words; of an unknown option suggest close ones alone."""
    try:
        yield
    except typer.BadParameter as error:
        details: list[Details] = getattr(error.__cause__, "errors", list)()
        if details:
            error.message = _words(details[0])
        raise
    except Exception as error:
        typed, found = str(getattr(error, "option_name", "")), getattr(error, "possibilities", None)
        if found:
            vars(error).update(possibilities=[each for each in found if _is_close(typed, each)])
        raise


def _is_close(typed: str, option: str) -> bool:
    """Whether an option may be what was meant: the same but for a letter or two, or cut."""
    one, other = typed.strip("-"), option.strip("-")
    return other.startswith(one) or SequenceMatcher(None, one, other).ratio() >= CLOSE


def _words(found: Details) -> str:
    words = _WORDS.get(found["type"])
    return words(found) if words is not None else str(found["msg"]).removeprefix("Value error, ")
