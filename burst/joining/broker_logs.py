"""What the log of a broker says about why it has not joined. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TAIL_LINES = 100
"""So many lines from the end of a log are enough."""
_MAX_LENGTH = 300
_SCRIPT = re.compile(r"minicluster\[\d*\]: ")
_ERROR = re.compile(
    r"^(?:<[0-3]>|\w{3} +\d+ [\d:.]+ \w+ \d{4} )?([\w-]+\.(?:emerg|alert|crit|err)\[\d+\]: .+)"
)
"""A broker's message of severity `err` or worse (RFC 5424), as it is written with and without systemd."""


def problem(lines: Iterable[str]) -> str:
    """Return the first error of the last run that had one, else the start script's last line; or nothing."""
    error, last, is_new_run = "", "", True
    for line in lines:
        if _SCRIPT.match(line):
            last, is_new_run = line, True
        elif is_new_run and (found := _ERROR.match(line)):
            error, is_new_run = found[1], False
    text = error or last
    return "".join(letter if letter.isprintable() else " " for letter in text.strip()[:_MAX_LENGTH])
