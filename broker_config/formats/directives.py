"""Submission directives (RFC 36): options of a batch script in its comments, such as `# flux: -N2 -t 10m`."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from broker_config.formats.errors import DirectiveError

_DIRECTIVE = re.compile(r"^\s*#\s*flux:(.*)$", re.IGNORECASE)


class Directive(NamedTuple):
    """The options of one line."""

    line: int
    """Counted from 1."""
    words: tuple[str, ...]


def read(script: str) -> tuple[Directive, ...]:
    """Return the directives before the first command. Raises DirectiveError.

    The triple quotes of RFC 36, for values of several lines, are not supported.
    """
    found: list[Directive] = []
    for number, line in enumerate(script.splitlines(), 1):
        match = _DIRECTIVE.match(line)
        if match:
            found.append(Directive(number, _words(match[1], number)))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return tuple(found)


def _words(text: str, number: int) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError as error:
        raise DirectiveError(f"line {number}: {error}") from error
