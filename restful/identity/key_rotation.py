"""Which key signs access tokens now, which are published, and when the next is made. No I/O.

A key is published at least one lifetime of a token before it signs, so that who caches the JWKS has it.
It stays published for one lifetime after its successor began, so that its last token can be verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SKEW = 60.0
"""Seconds that clocks of replicas and resource servers may differ."""


@dataclass(frozen=True, slots=True)
class KeyTimes:
    """When a key signs; epoch seconds."""

    kid: str
    not_before: float
    retire_at: float | None = None
    """From when on it is not published; None until its successor is made."""


@dataclass(frozen=True, slots=True)
class RotationRule:
    """How long keys sign, in seconds."""

    period: float
    lifetime: float
    """Of an access token."""

    @property
    def lead(self) -> float:
        """How long a key is published before it signs."""
        return self.lifetime + SKEW


def signing(keys: Collection[KeyTimes], now: float) -> KeyTimes | None:
    """Return the key that signs: the last of those that may; of two that began together, the first by id.

    Where none may yet, as after a clock was put back, it is the one that may first.
    """
    able = [each for each in keys if each.not_before <= now]
    return min(able, key=lambda each: (-each.not_before, each.kid), default=None) or min(
        keys, key=lambda each: (each.not_before, each.kid), default=None
    )


def published(keys: Iterable[KeyTimes], now: float) -> list[KeyTimes]:
    """Return the keys with which tokens are verified."""
    return [each for each in keys if each.retire_at is None or now < each.retire_at]


def next_start(keys: Iterable[KeyTimes], rule: RotationRule, now: float) -> float | None:
    """Return from when on a key that is to be made now signs; None while none is to be made.

    The first one signs at once: nobody has cached a list without it.
    """
    newest = max((each.not_before for each in keys), default=None)
    if newest is None:
        return now
    if now < newest + rule.period - rule.lead:
        return None
    return max(newest + rule.period, now + rule.lead)


def retirement(successor_start: float, rule: RotationRule) -> float:
    """Return when a key is no longer published whose successor signs from a time on."""
    return successor_start + rule.lifetime + SKEW
