"""Hosts as ranges of numbers behind a prefix, so that a hundred thousand of them cost no more than one.

Each host is in exactly one form of range: its number is its last digits, at most MAX_DIGITS of them, and all
numbers of a range have as many digits. So ranges can be compared, joined and searched without their names.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_DIGITS = 18


class HostRange(NamedTuple):
    """The hosts `prefix` + number, for each number from `first` to `last`.

    Each number is written with `digits` digits, with zeros in front. Of 0 digits there is one host, `prefix`.
    """

    prefix: str
    digits: int = 0
    first: int = 0
    last: int = 0

    @property
    def total(self) -> int:
        """How many hosts these are."""
        return self.last + 1 - self.first

    @property
    def padded(self) -> bool:
        """Whether the first number has zeros in front."""
        return self.digits > 1 and self.first < 10 ** (self.digits - 1)

    def number(self, value: int) -> str:
        """Return a number as it is written; empty for no digits."""
        return str(value).zfill(self.digits) if self.digits else ""

    def names(self) -> Iterator[str]:
        """Yield the hosts' names."""
        return (f"{self.prefix}{self.number(each)}" for each in range(self.first, self.last + 1))


def named(host: str) -> HostRange:
    """Return one host."""
    prefix, digits = _split(host)
    return HostRange(prefix, len(digits), int(digits), int(digits)) if digits else HostRange(host)


def numbered(prefix: str, numbers: range, width: int = 0) -> Iterator[HostRange]:
    """Yield the hosts `prefix` + number, for ascending numbers padded with zeros to `width` characters."""
    start, before = _split(prefix)
    first = numbers.start
    while first < numbers.stop:
        digits = max(width, len(str(first)))
        stop = min(numbers.stop, 10**digits)
        cut = max(len(before) + digits - MAX_DIGITS, 0)
        more = int(before[cut:] or 0) * 10**digits
        yield HostRange(start + before[:cut], len(before) - cut + digits, more + first, more + stop - 1)
        first = stop


def total(ranges: Iterable[HostRange]) -> int:
    """Return how many hosts these are, with repetitions."""
    return sum(each.total for each in ranges)


def distinct(ranges: Iterable[HostRange]) -> Iterator[HostRange]:
    """Yield each host once, where it comes first."""
    before = _Spans()
    for each in ranges:
        for first, last in before.add(each):
            yield each._replace(first=first, last=last)


def repeated(ranges: Iterable[HostRange]) -> str:
    """Return the first host that is there for the second time; empty: there is none."""
    before = _Spans()
    for each in ranges:
        number = each.first
        for first, last in before.add(each):
            if first > number:
                break
            number = last + 1
        if number <= each.last:
            return f"{each.prefix}{each.number(number)}"
    return ""


def apart(ranges: Iterable[HostRange], hosts: Iterable[str]) -> Iterator[HostRange]:
    """Yield the ranges in parts, so that each of these hosts is one by itself."""
    numbers: dict[tuple[str, int], list[int]] = {}
    for alone in map(named, hosts):
        numbers.setdefault((alone.prefix, alone.digits), []).append(alone.first)
    for each in ranges:
        first = each.first
        for number in sorted(numbers.get((each.prefix, each.digits), ())):
            if not first <= number <= each.last:
                continue
            if first < number:
                yield each._replace(first=first, last=number - 1)
            yield each._replace(first=number, last=number)
            first = number + 1
        if first <= each.last:
            yield each._replace(first=first)


class _Spans:
    """The numbers that were there, by prefix and digits."""

    def __init__(self) -> None:
        # Ascending spans that do not touch, each as (last, first): so bisect finds them in Python 3.8, too.
        self._spans: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def add(self, each: HostRange) -> list[tuple[int, int]]:
        """Take in a range; return the spans of it, as (first, last), that are new."""
        spans = self._spans.setdefault((each.prefix, each.digits), [])
        begin = end = bisect_left(spans, (each.first - 1, 0))
        new, first, least, greatest = [], each.first, each.first, each.last
        while end < len(spans) and spans[end][1] <= each.last + 1:
            last_known, first_known = spans[end]
            if first < first_known:
                new.append((first, first_known - 1))
            first = max(first, last_known + 1)
            least, greatest = min(least, first_known), max(greatest, last_known)
            end += 1
        if first <= each.last:
            new.append((first, each.last))
        spans[begin:end] = [(greatest, least)]
        return new


def _split(host: str) -> tuple[str, str]:
    """Return a host's name before its number, and the number as it is written."""
    end = max(len(host.rstrip("0123456789")), len(host) - MAX_DIGITS)
    return host[:end], host[end:]
