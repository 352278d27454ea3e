"""Eventlogs (RFC 18): one JSON object on each line, read and written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias  # novm - for type checkers alone

EventObject: TypeAlias = "dict[str, Any]"
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_ASCII = json.JSONEncoder(separators=(",", ":")).encode


def event(timestamp: float, name: str, context: dict[str, Any] | None = None) -> EventObject:
    """Return an event; without context the key is omitted."""
    made: EventObject = {"timestamp": timestamp, "name": name}
    if context:
        made["context"] = context
    return made


def encode(entry: EventObject) -> str:
    """Return one line, without its newline. Lone surrogates (no UTF-8) are written as escapes."""
    line = _COMPACT(entry)
    if line.isascii():
        return line
    try:
        line.encode()
    except UnicodeEncodeError:
        return _ASCII(entry)
    return line


def decode(line: str) -> EventObject:
    """Return the event of one line. Raises ValueError."""
    found: EventObject = json.loads(line)
    return found


def events(text: str) -> Iterator[EventObject]:
    """Yield the events of an eventlog, line by line. Raises ValueError."""
    return map(decode, lines(text))


def lines(text: str) -> Iterator[str]:
    """Yield the lines of an eventlog. Only a newline ends one; texts may contain other separators."""
    return filter(None, text.split("\n"))


def behind(text: str, count: int) -> str:
    """Return an eventlog without its first entries, `count` of them."""
    start = 0
    for _ in range(count):
        end = text.find("\n", start)
        if end < 0:
            return ""
        start = end + 1
    return text[start:]


def context(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's context, empty if it has none."""
    return entry.get("context") or {}
