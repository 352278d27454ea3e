"""Hostlists (RFC 29): `mc-[0-3,7]` and the list of names it stands for, both ways.

Source: Flux RFC 29. Beyond it, an expression may hold several brackets (`rack[0-1]node[1-2]`), the
leftmost one varying slowest, as pdsh has it.
"""

from __future__ import annotations

import re
from itertools import chain, product
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats.errors import HostlistError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_HOSTS = 100_000
"""Hosts in one list: more than any machine has, and few enough that their names take some 10 MB."""
MAX_NAME = 253
"""Characters in one host name, as in DNS (RFC 1035), so that a list cannot multiply a long text."""

_MAX_DIGITS = 18
_IDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_ILLEGAL = re.compile(r"[^!-~]|[\[\],]")


class _Ids(NamedTuple):
    """The ids of one bracket as ranges, padded with zeros to `width` characters."""

    ranges: tuple[range, ...]
    width: int

    @property
    def total(self) -> int:
        return sum(map(len, self.ranges))

    @property
    def length(self) -> int:
        """The number of characters of the longest id."""
        return max(self.width, *(len(str(each[-1])) for each in self.ranges))

    def written(self) -> Iterator[str]:
        return (str(number).zfill(self.width) for each in self.ranges for number in each)


class _Expression(NamedTuple):
    """One comma-separated expression: texts and brackets in turn, and how many names they stand for."""

    parts: tuple[str | _Ids, ...]
    total: int

    def names(self) -> Iterator[str]:
        options = [[part] if isinstance(part, str) else list(part.written()) for part in self.parts]
        return ("".join(chosen) for chosen in product(*options))


def decode(text: str, limit: int = MAX_HOSTS) -> list[str]:
    """Return the names that `text` stands for, in order, with repetitions.

    Raises HostlistError with the wrong character's position (from 1), or for more than `limit` names, which
    is checked before any name is made.
    """
    return [name for each in _counted(text, limit) for name in each.names()]


def count(text: str, limit: int = MAX_HOSTS) -> int:
    """Return how many names `text` stands for, with repetitions, without making them.

    Raises HostlistError as `decode` does.
    """
    return sum(each.total for each in _counted(text, limit))


def encode(hosts: Iterable[str]) -> str:
    """Return the shortest usual form of `hosts`: neighbours with one prefix share a bracket.

    Order and zero padding are kept: `decode(encode(hosts)) == list(hosts)`. Raises HostlistError if a name
    contains a character that RFC 29 forbids.
    """
    return ",".join(_written(prefix, numbers) for prefix, numbers in _groups(hosts))


def _expressions(text: str) -> Iterator[tuple[int, str]]:
    """Yield each comma-separated expression with its offset; empty ones are skipped."""
    start, opened = 0, -1
    for offset, character in enumerate(chain(text, ",")):
        if character == "[":
            if opened >= 0:
                raise _error(text, offset, "a bracket inside a bracket")
            opened = offset
        elif character == "]":
            if opened < 0:
                raise _error(text, offset, "']' without a '[' before it")
            opened = -1
        elif character == "," and (opened < 0 or offset == len(text)):
            if opened >= 0:
                raise _error(text, opened, "'[' is never closed")
            if offset > start:
                yield start, text[start:offset]
            start = offset + 1


def _counted(text: str, limit: int) -> list[_Expression]:
    """Return the expressions of `text`, which together stand for at most `limit` names."""
    result: list[_Expression] = []
    total = 0
    for start, written in _expressions(text):
        result.append(_expression(text, start, written, limit))
        total += result[-1].total
        if total > limit:
            raise _error(text, start, f"more than {limit} hosts")
    return result


def _expression(text: str, start: int, written: str, limit: int) -> _Expression:
    parts: list[str | _Ids] = []
    total, length, offset = 1, 0, start
    for index, piece in enumerate(re.split(r"[\[\]]", written)):
        part = _ids(text, offset, piece, limit) if index % 2 else _literal(text, offset, piece)
        parts.append(part)
        total *= part.total if isinstance(part, _Ids) else 1
        length += part.length if isinstance(part, _Ids) else len(part)
        if total > limit:
            raise _error(text, start, f"more than {limit} hosts")
        if length > MAX_NAME:
            raise _error(text, start, f"a host name of more than {MAX_NAME} characters")
        offset += len(piece) + 1
    return _Expression(tuple(parts), total)


def _literal(text: str, offset: int, piece: str) -> str:
    if illegal := _ILLEGAL.search(piece):
        raise _error(text, offset + illegal.start(), f"{illegal[0]!r} cannot be part of a host name")
    return piece


def _ids(text: str, offset: int, piece: str, limit: int) -> _Ids:
    """Return the ids inside one bracket; the first one's leading zeros give the width of all."""
    ranges: list[range] = []
    total, width = 0, 0
    for item in piece.split(","):
        match = _IDS.fullmatch(item)
        if not match:
            raise _error(text, offset, f"{item!r} is neither a number nor a range like 0-3")
        if not ranges and match[1].startswith("0"):
            width = len(match[1])
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise _error(text, offset, f"range {item} goes backwards")
        ranges.append(range(first, last + 1))
        total += last + 1 - first
        if total > limit:
            raise _error(text, offset, f"more than {limit} hosts")
        offset += len(item) + 1
    return _Ids(tuple(ranges), width)


def _groups(hosts: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield neighbours that may share a bracket: those with one prefix, and the first one's padding."""
    prefix = ""
    digits: list[str] = []
    for host in hosts:
        if not host:
            raise HostlistError("a host name is empty")
        _literal(host, 0, host)
        text, number = _split(host)
        if number and digits and text == prefix and _fits(digits[0], number):
            digits.append(number)
            continue
        if prefix or digits:
            yield prefix, digits
        prefix, digits = text, [number] if number else []
    if prefix or digits:
        yield prefix, digits


def _split(host: str) -> tuple[str, str]:
    """Return a host's name before its last digits, and these digits, as many as a bracket may have."""
    end = max(len(host.rstrip("0123456789")), len(host) - _MAX_DIGITS)
    return host[:end], host[end:]


def _fits(first: str, other: str) -> bool:
    width = len(first) if first.startswith("0") else 0
    return other == str(int(other)).zfill(width)


def _written(prefix: str, digits: list[str]) -> str:
    if not digits:
        return prefix
    runs: list[list[str]] = []
    for each in digits:
        if runs and int(each) == int(runs[-1][-1]) + 1:
            runs[-1].append(each)
        else:
            runs.append([each])
    ids = ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{prefix}{ids}" if len(digits) == 1 else f"{prefix}[{ids}]"


def _error(text: str, offset: int, problem: str) -> HostlistError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return HostlistError(f"hostlist {shown!r}, character {offset + 1}: {problem}")
