"""When to try again: each attempt waits twice as long, up to a limit. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Backoff(NamedTuple):
    """Delays in seconds."""

    first: float
    last: float

    def delay(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row, 1 or more."""
        return min(self.last, self.first * 2.0 ** min(failures - 1, 30))
