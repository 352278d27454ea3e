r"""Text of others in logs, messages and on terminals: on one line, and nothing in it moves the cursor.

What is not printable is written as Python writes it: `\x1b` for the one that begins a terminal's commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def printable(text: str) -> str:
    """Return the text on one line, with escapes for what is not printable."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def printable_lines(text: str) -> str:
    """Return the text with its line breaks, and with escapes for all else that is not printable."""
    return "\n".join(map(printable, text.split("\n")))


def few(names: Sequence[str], most: int = 5, separator: str = ", ") -> str:
    """Return names for a message: of too many the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
