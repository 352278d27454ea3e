"""A command in one text, as a shell splits it. No shell is started. Pure.

shlex.split returns the same, but takes time with the square of a word's length: a text from outside would
stop the service for minutes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restful.settings import JobLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = JobLimits().command_bytes
"""Of a text: what a process can get of words."""
_PARTS = re.compile(
    r"""(?P<space>[ \t\r\n]++)
    |   '(?P<single>[^']*+)'
    |   "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"
    |   \\(?P<escaped>.)
    |   (?P<plain>[^ \t\r\n'"\\]++)
    |   (?P<open>['"\\].*+)
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")
_OPEN_ESCAPE = re.compile(r"""(?:"[^"\\]*+(?:\\.[^"\\]*+)*+)?\\""", re.DOTALL)


def split(text: str) -> list[str]:
    """Return the words of a text (POSIX shell, section 2.2), without expansion of any kind.

    Raises ValueError, with a message for people, for a text of more than MAX_BYTES, and for one that ends
    within quotes or behind a backslash.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise ValueError(f"it has {size} bytes; the limit is {MAX_BYTES}")
    return list(_words(text))


def _words(text: str) -> Iterator[str]:
    word: list[str] | None = None
    for match in _PARTS.finditer(text):
        if match.lastgroup == "space":
            if word is not None:
                yield "".join(word)
            word = None
        else:
            word = word if word is not None else []
            word.append(_content(match))
    if word is not None:
        yield "".join(word)


def _content(match: re.Match[str]) -> str:
    """Return what a part adds to its word."""
    kind = str(match.lastgroup)
    content = match[kind]
    if kind == "open":
        escape = _OPEN_ESCAPE.fullmatch(content)
        raise ValueError("No escaped character" if escape else "No closing quotation")
    return _ESCAPED_IN_QUOTES.sub(r"\1", content) if kind == "double" else content
