"""Ids that sort by when they were made: ULIDs (github.com/ulid/spec), 26 characters of Crockford's base 32.

48 bits are milliseconds since 1970, 80 bits are random. Those of one process only ever increase: within a
millisecond, and where its clock goes back, the next id is the last one plus 1.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
_RANDOM_BITS = 80
_TIME_BITS = 48


def encoded(number: int) -> str:
    """Return 128 bits as a ULID's text."""
    return "".join(ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def made_at(text: str) -> float:
    """Return when an id was made, in seconds since 1970; raise ValueError where it is none."""
    if len(text) != LENGTH or not set(text) <= set(ALPHABET) or text[0] > "7":
        raise ValueError(f"{text[:40]!r} is no ULID")
    number = 0
    for each in text:
        number = number << 5 | ALPHABET.index(each)
    return (number >> _RANDOM_BITS) / 1000


@dataclass(slots=True)
class UlidFactory:
    """Makes ids, each greater than the one before; threads may use one factory."""

    random: Callable[[int], int] = secrets.randbits
    """Returns a number of so many random bits."""
    _last: int = -1
    _lock: Lock = field(default_factory=Lock)

    def new(self, now: float) -> str:
        """Return an id; `now` is in seconds since 1970."""
        milliseconds = min(max(int(now * 1000), 0), 2**_TIME_BITS - 1)
        with self._lock:
            if milliseconds > self._last >> _RANDOM_BITS:
                self._last = milliseconds << _RANDOM_BITS | self.random(_RANDOM_BITS)
            else:
                self._last += 1
            return encoded(self._last)


_FACTORY = UlidFactory()


def new_id(now: float) -> str:
    """Return a ULID, greater than each one before it in this process; `now` is in seconds since 1970."""
    return _FACTORY.new(now)
