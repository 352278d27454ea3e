"""The variables of `envars`: an object of a JSON body, or a text of the query. Pure.

In a query the Python client sends what `str` makes of a dictionary, such as {'A': '1', 'B': "it's"}. That is
read here, texts alone; as Python itself reads it, it could be any expression.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WRONG = "Environment variables must be key/value pairs (dict)"
MAX_CHARACTERS = 256 * 1024
"""Of a text. What one may have in a job's environment is less."""
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_PAIR = re.compile(rf"\s*({_TEXT})\s*:\s*({_TEXT})\s*(,|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}


def read(value: Any) -> dict[str, str]:
    """Return the variables. Raises ValueError with what would be right."""
    found = _parsed(value) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise ValueError(WRONG)  # noqa: TRY004 - it is one answer, whatever is wrong
    return {str(name): _text(each) for name, each in found.items()}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ValueError(WRONG)


def _parsed(text: str) -> Any:
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"Environment variables may have {MAX_CHARACTERS} characters, not {len(text)}")
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _python_pairs(text.strip())


def _python_pairs(text: str) -> Mapping[str, str]:
    """Return the pairs of a dictionary of texts as Python writes it. Raises ValueError."""
    if text[:1] != "{" or text[-1:] != "}":
        raise ValueError(WRONG)
    inner, found, start = text[1:-1].strip(), dict[str, str](), 0
    while start < len(inner):
        pair = _PAIR.match(inner, start)
        if pair is None:
            raise ValueError(WRONG)
        found[_unquoted(pair[1])] = _unquoted(pair[2])
        start = pair.end()
    return found


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(_character, text[1:-1])


def _character(escape: re.Match[str]) -> str:
    word = escape[1]
    if len(word) > 1:
        number = int(word[1:], 16)
        if number > 0x10FFFF:
            raise ValueError(WRONG)
        return chr(number)
    if word not in _ESCAPED:
        raise ValueError(WRONG)
    return _ESCAPED[word]
