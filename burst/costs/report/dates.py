"""An axis of dates in UTC, with ticks at whole minutes, hours or days."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from queue_policies.simulator.report.axis import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator

_TICKS = 9
"""So many there are at most."""
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
_STEPS = (
    *(each * MINUTE for each in (1, 2, 5, 10, 15, 30)),
    *(each * HOUR for each in (1, 2, 3, 6, 12)),
    *(each * DAY for each in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)),
)


class DateAxis(Axis):
    """A scale of seconds since 1970."""

    __slots__ = ()

    @property
    def step(self) -> float:
        """Seconds between two ticks."""
        span = self.high - self.low
        return next((each for each in _STEPS if span / each <= _TICKS), _STEPS[-1])

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the values of ticks, with their dates, or times of day."""
        step = self.step
        at = -(-self.low // step) * step
        while at <= self.high:
            yield at, self._word(at)
            at += step

    def _word(self, at: float) -> str:
        found = datetime.fromtimestamp(at, UTC)
        if self.step >= DAY:
            return f"{found:%Y-%m-%d}"
        if self.high - self.low > DAY:
            return f"{found:%m-%d %H:%M}"
        return f"{found:%H:%M}"


def shown(at: float) -> str:
    """Return a time as people read it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
