"""Hostlists (RFC 29): `mc-[0-3,7]` and the list of names it stands for, both ways.

Source: Flux RFC 29. Beyond it, an expression may hold several brackets (`rack[0-1]node[1-2]`), the
leftmost one varying slowest, as pdsh has it.
"""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import host_ranges
from broker_config.formats.errors import HostlistError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from broker_config.formats.host_ranges import HostRange

MAX_HOSTS = 100_000
"""Hosts in one list: more than any machine has, and few enough that their names take some 10 MB."""
MAX_NAME = 253
"""Characters in one host name, as in DNS (RFC 1035), so that a list cannot multiply a long text."""

MAX_WRITTEN = 524_288
"""Characters that hosts may take which no range can stand for, such as those of `n[0-9]x`.

R and broker.toml both list the hosts, and share a ConfigMap of 1 MiB.
"""

_IDS = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_MARKS = re.compile(r"[\[\],]")
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
    written: int
    """How many characters its ranges take, at most, with inner brackets written out; 0: it has none."""

    def names(self) -> Iterable[str]:
        first = self.parts[0]
        if len(self.parts) == 1 and isinstance(first, str):  # without a bracket
            return (first,)
        return (name for each in self.ranges() for name in each.names())

    def ranges(self) -> Iterator[HostRange]:
        *before, end = self.parts if self.parts[-1] else self.parts[:-1]
        options = [[part] if isinstance(part, str) else part.written() for part in before]
        for chosen in product(*options):
            start = "".join(chosen)
            if isinstance(end, str):
                yield host_ranges.named(start + end)
                continue
            for ids in end.ranges:
                yield from host_ranges.numbered(start, ids, end.width)


def decode(text: str, limit: int = MAX_HOSTS) -> list[str]:
    """Return the names that `text` stands for, in order, with repetitions.

    Raises HostlistError with the wrong character's position (from 1), or for more than `limit` names, which
    is checked before any name is made.
    """
    return [name for each in _counted(text, limit) for name in each.names()]


def ranges(text: str, limit: int = MAX_HOSTS) -> list[HostRange]:
    """Return the hosts that `text` stands for as ranges, in order. Raises HostlistError as `decode` does."""
    return [found for each in _counted(text, limit) for found in each.ranges()]


def count(text: str, limit: int = MAX_HOSTS) -> int:
    """Return how many names `text` stands for, with repetitions, without making them.

    Raises HostlistError as `decode` does.
    """
    return sum(each.total for each in _counted(text, limit))


def written_out(text: str) -> int:
    """Return how many characters the names of `text` take, at most, for which no range can stand.

    Raises HostlistError as `decode` does.
    """
    return sum(each.written for each in _counted(text, MAX_HOSTS))


def encode(hosts: Iterable[str]) -> str:
    """Return the shortest usual form of `hosts`: neighbours with one prefix share a bracket.

    Order and zero padding are kept: `decode(encode(hosts)) == list(hosts)`. Raises HostlistError if a name
    contains a character that RFC 29 forbids.
    """
    return encode_ranges(map(named, hosts))


def encode_ranges(hosts: Iterable[HostRange]) -> str:
    """Return the usual form of hosts as `encode` does, without making their names."""
    return ",".join(map(_written, _groups(hosts)))


def named(host: str) -> HostRange:
    """Return a host by its name. Raises HostlistError if it contains a character that RFC 29 forbids."""
    if not host:
        raise HostlistError("a host name is empty")
    return host_ranges.named(_literal(host, 0, host))


def numbered(prefix: str, numbers: range) -> Iterator[HostRange]:
    """Return the hosts `prefix` + number, for ascending numbers. Raises HostlistError as `named` does."""
    return host_ranges.numbered(_literal(prefix, 0, prefix), numbers)


def _expressions(text: str) -> Iterator[tuple[int, str]]:
    """Yield each comma-separated expression with its offset; empty ones are skipped."""
    start, opened = 0, -1
    for match in _MARKS.finditer(text):
        offset, mark = match.start(), match[0]
        if mark == "[":
            if opened >= 0:
                raise _error(text, offset, "a bracket inside a bracket")
            opened = offset
        elif mark == "]":
            if opened < 0:
                raise _error(text, offset, "']' without a '[' before it")
            opened = -1
        elif opened < 0:
            if offset > start:
                yield start, text[start:offset]
            start = offset + 1
    if opened >= 0:
        raise _error(text, opened, "'[' is never closed")
    if start < len(text):
        yield start, text[start:]


def _counted(text: str, limit: int) -> list[_Expression]:
    """Return the expressions of `text`, which together stand for at most `limit` names."""
    result: list[_Expression] = []
    total, written = 0, 0
    for start, piece in _expressions(text):
        result.append(_expression(text, start, piece, limit))
        total += result[-1].total
        written += result[-1].written
        if total > limit:
            raise _error(text, start, f"more than {limit} hosts")
        if written > MAX_WRITTEN:
            problem = f"names of more than {MAX_WRITTEN} characters; let each end in the number that varies"
            raise _error(text, start, problem)
    return result


def _expression(text: str, start: int, written: str, limit: int) -> _Expression:
    if "[" not in written and len(written) <= MAX_NAME:
        return _Expression((_literal(text, start, written),), 1, 0)
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
    *before, end = parts if parts[-1] else parts[:-1]
    written_out = [part.total for part in before if isinstance(part, _Ids)]
    runs = prod(written_out) * (1 if isinstance(end, str) else len(end.ranges))
    return _Expression(tuple(parts), total, runs * (length + 1) if written_out else 0)


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


def _groups(hosts: Iterable[HostRange]) -> Iterator[list[HostRange]]:
    """Yield neighbours that may share a bracket: those with one prefix, and the first one's padding."""
    group: list[HostRange] = []
    for each in hosts:
        if group and not _fits(group[0], each):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _fits(first: HostRange, other: HostRange) -> bool:
    """Whether a bracket that begins with `first` may also have `other`: its first number sets the padding."""
    if not (first.digits and other.digits and first.prefix == other.prefix):
        return False
    if first.padded and other.digits == first.digits:
        return True
    return not other.padded and (not first.padded or other.digits > first.digits)


def _written(group: list[HostRange]) -> str:
    head, *others = group
    if not head.digits:
        return head.prefix
    runs = [[head, head]]
    for each in others:
        if each.first == runs[-1][1].last + 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    ids = ",".join(_run(begin, end) for begin, end in runs)
    return f"{head.prefix}{ids}" if ids.isdigit() else f"{head.prefix}[{ids}]"


def _run(begin: HostRange, end: HostRange) -> str:
    first, last = begin.number(begin.first), end.number(end.last)
    return first if begin.first == end.last else f"{first}-{last}"


def _error(text: str, offset: int, problem: str) -> HostlistError:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return HostlistError(f"hostlist {shown!r}, character {offset + 1}: {problem}")
