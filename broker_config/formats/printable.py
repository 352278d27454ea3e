r"""Text of others in logs, messages and on terminals: on one line, and nothing in it moves the cursor.

What is not printable is written as Python writes it: `\x1b` for the one that begins a terminal's commands.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text on one line, with escapes for what is not printable."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def printable_lines(text: str) -> str:
    """Return the text with its line breaks, and with escapes for all else that is not printable."""
    return "\n".join(map(printable, text.split("\n")))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
