"""Hostlists (RFC 29): `mc-[0-3,7]` and the list of names it stands for, both ways.

Source: Flux RFC 29. Beyond it, an expression may hold several brackets (`rack[0-1]node[1-2]`), the
leftmost one varying slowest, as pdsh has it.
"""

from __future__ import annotations

import re
from itertools import chain, product
from typing import TYPE_CHECKING

from broker_config.errors import HostlistError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_HOSTS = 1 << 20
"""More hosts than this in one list is taken for a slip (`[1-10000000]`), not for a cluster."""

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})", re.DOTALL)
_IDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_ILLEGAL = re.compile(r"[^!-~]|[\[\],]")


def decode(text: str) -> list[str]:
    """The names that `text` stands for, in order, repetitions kept.

    Raises HostlistError, which says at which character (from 1) the text is wrong.
    """
    hosts: list[str] = []
    for start, expression in _expressions(text):
        hosts.extend(_expand(text, start, expression))
        if len(hosts) > MAX_HOSTS:
            raise _error(text, start, f"more than {MAX_HOSTS} hosts")
    return hosts


def encode(hosts: Iterable[str]) -> str:
    """The shortest usual form of `hosts`: neighbours of one prefix share a bracket.

    Order and zero padding are kept: `decode(encode(hosts)) == list(hosts)`. Raises HostlistError where a
    name holds a character that RFC 29 forbids.
    """
    return ",".join(_written(prefix, numbers) for prefix, numbers in _groups(hosts))


def _expressions(text: str) -> Iterator[tuple[int, str]]:
    """Each comma-separated expression with the offset at which it begins; empty ones are nothing."""
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


def _expand(text: str, start: int, expression: str) -> Iterator[str]:
    parts: list[list[str]] = []
    total, offset = 1, start
    for index, piece in enumerate(re.split(r"[\[\]]", expression)):
        parts.append(_ids(text, offset, piece) if index % 2 else [_literal(text, offset, piece)])
        total *= len(parts[-1])
        if total > MAX_HOSTS:
            raise _error(text, start, f"more than {MAX_HOSTS} hosts")
        offset += len(piece) + 1
    return ("".join(names) for names in product(*parts))


def _literal(text: str, offset: int, piece: str) -> str:
    if illegal := _ILLEGAL.search(piece):
        raise _error(text, offset + illegal.start(), f"{illegal[0]!r} cannot be part of a host name")
    return piece


def _ids(text: str, offset: int, piece: str) -> list[str]:
    """The ids inside one bracket; the first one's leading zeros give the width of all."""
    ids: list[str] = []
    width: int | None = None
    for item in piece.split(","):
        match = _IDS.fullmatch(item)
        if not match:
            raise _error(text, offset, f"{item!r} is neither a number nor a range like 0-3")
        if width is None:
            width = len(match[1]) if match[1].startswith("0") else 0
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise _error(text, offset, f"range {item} goes backwards")
        if last - first >= MAX_HOSTS - len(ids):
            raise _error(text, offset, f"more than {MAX_HOSTS} hosts")
        ids.extend(str(number).zfill(width) for number in range(first, last + 1))
        offset += len(item) + 1
    return ids


def _groups(hosts: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Neighbours that may share a bracket: one prefix, and the padding that the first one sets."""
    prefix, digits = "", list[str]()
    for host in hosts:
        if not host:
            raise HostlistError("a host name is empty")
        _literal(host, 0, host)
        match = _NUMBERED.fullmatch(host)
        if match and digits and match[1] == prefix and _fits(digits[0], match[2]):
            digits.append(match[2])
            continue
        if prefix or digits:
            yield prefix, digits
        prefix, digits = (match[1], [match[2]]) if match else (host, [])
    if prefix or digits:
        yield prefix, digits


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
