"""Lines that brokers log, such as `broker.info[0]: …`, amid what a command writes to the same stream."""

from __future__ import annotations

import re

_LINE = re.compile(
    rb"^(?:<\d>|[A-Z][a-z]{2} [ \d]\d [\d:.]+ \w+ \d{4} )?"
    rb"[\w.-]+\.(emerg|alert|crit|err|error|warning|notice|info|debug)\[\d+\]: "
)
_QUIET = {b"notice", b"info", b"debug"}
_COMMAND_ENDED = re.compile(rb"\]: (rc2|cleanup)\.\d+: ")
"""A broker's message that the command failed or was cancelled: the exit code reports it already."""
_HEAD = 200
"""Bytes of a line that are read."""


def is_logged(line: bytes) -> bool:
    """Whether a broker wrote the line."""
    return _LINE.match(line[:_HEAD]) is not None


def is_quiet(line: bytes) -> bool:
    """Whether a broker wrote the line, and who watches the command can do without it."""
    match = _LINE.match(line[:_HEAD])
    return match is not None and (match[1] in _QUIET or _COMMAND_ENDED.search(line[:_HEAD]) is not None)
