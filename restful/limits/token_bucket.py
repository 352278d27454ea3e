"""Token buckets: so many requests a second, and so many at once after a rest. Pure: the time is passed in."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple


class Bucket(NamedTuple):
    """What a user has left."""

    tokens: float
    at: float
    """The time in seconds at which it had these."""


class RateDecision(NamedTuple):
    """Whether a request may pass."""

    allowed: bool
    remaining: int
    """Whole requests that may follow at once."""
    wait: float
    """Seconds until the next may pass; 0 if one may now."""


class Rates:
    """The buckets of many users; the one used longest ago is dropped where there are too many."""

    def __init__(self, per_second: float, burst: int, users: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._users = users
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, user: str, now: float) -> RateDecision:
        """Take a token of a user's bucket, if it has one."""
        tokens = self._tokens(user, now)
        allowed = tokens >= 1
        remaining = tokens - allowed
        self._buckets[user] = Bucket(remaining, now)
        self._buckets.move_to_end(user)
        if len(self._buckets) > self._users:
            self._buckets.popitem(last=False)
        wait = 0.0 if remaining >= 1 else (1 - remaining) / self._per_second
        return RateDecision(allowed, int(remaining), wait)

    def _tokens(self, user: str, now: float) -> float:
        bucket = self._buckets.get(user)
        if bucket is None:
            return float(self._burst)
        passed = max(0.0, now - bucket.at)  # clocks may step back
        return min(float(self._burst), bucket.tokens + passed * self._per_second)

    def __len__(self) -> int:
        return len(self._buckets)
