"""Server-sent events as bytes (HTML Living Standard, 9.2.5 and 9.2.6). Pure."""

from __future__ import annotations

import re

MEDIA_TYPE = "text/event-stream"
COMMENT = b":\n\n"
"""What a browser skips: it shows proxies and both ends that the connection is there."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_FORBIDDEN = re.compile(r"[\r\n\0]")


def event(data: str, *, name: str = "", id: str | None = None) -> bytes:  # noqa: A002 - the field's name
    """Return one event. Raises ValueError where a name or id has characters that would end its line.

    A lone surrogate, which is no UTF-8, is written as JSON would write it.
    """
    for field in (name, id or ""):
        if _FORBIDDEN.search(field):
            raise ValueError(f"{field!r} cannot be the name or the id of an event")
    lines = [f"event: {name}"] if name else []
    lines += [f"data: {line}" for line in _LINE_END.split(data)]
    if id is not None:
        lines.append(f"id: {id}")
    return ("\n".join(lines) + "\n\n").encode(errors="backslashreplace")


def retry(seconds: float) -> bytes:
    """Return the line that sets after how long a browser connects again."""
    return f"retry: {round(seconds * 1000)}\n\n".encode("ascii")
