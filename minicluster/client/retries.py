"""When a request is sent again, and after how long. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

LOST = frozenset({502, 503, 504})
"""Statuses of a service, or a proxy before it, that is away for now (RFC 9110, 15.6)."""
UNDER_WAY = "under-way"
"""The problem of a request whose first attempt is still being answered."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to go on, and how fast."""

    seconds: float = 60.0
    """After which no further attempt begins: a service that is replaced is back by then."""
    first: float = 0.5
    """Seconds before the second attempt; before each further one twice as many."""
    most: float = 10.0
    """Seconds before any one at most, where the service asks for no more."""

    def delay(self, attempt: int, asked: float | None, chance: float) -> float:
        """Return the seconds before the next attempt, after `attempt` of them.

        `asked` is what the service asked for. `chance`, from 0 to 1, spreads clients that were all cut off
        at once.
        """
        backoff = min(self.most, self.first * 2.0 ** min(attempt - 1, 20))
        own = backoff * (0.5 + chance / 2)
        return own if asked is None else asked + own / 10


def retry_after(text: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After (RFC 9110, 10.2.3); None where it has none that can be read."""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def may_repeat(status: int, type: str, *, idempotent: bool) -> bool:  # noqa: A002 - RFC 9457's name
    """Whether a request that was answered like this is sent again.

    429 means that nothing was done. The others may hide that it was: then only what has the same effect once
    or twice is sent again.
    """
    if status == 429:
        return True
    return idempotent and (status in LOST or (status == 409 and type == UNDER_WAY))
