"""Eventlogs (RFC 18): one JSON object a line."""

from __future__ import annotations

import json
from typing import Any

Event = dict[str, Any]
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_ASCII = json.JSONEncoder(separators=(",", ":")).encode


def event(timestamp: float, name: str, context: dict[str, Any] | None = None) -> Event:
    """An event; without context the key is left out."""
    made: Event = {"timestamp": timestamp, "name": name}
    if context:
        made["context"] = context
    return made


def encode(entry: Event) -> str:
    """One line, without its newline. Bytes that are no UTF-8 (lone surrogates) are written as escapes."""
    line = _COMPACT(entry)
    if line.isascii():
        return line
    try:
        line.encode()
    except UnicodeEncodeError:
        return _ASCII(entry)
    return line
