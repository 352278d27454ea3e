"""Which providers rest: after bursts that failed, they are tried again later and later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import durations

if TYPE_CHECKING:
    from collections.abc import Iterable

REST_SECONDS = 60.0
"""Seconds after the first burst in a row that failed; twice as long after each further one."""
MAX_REST_SECONDS = 1800.0


class PastBurst(NamedTuple):
    """How a burst at a provider has ended, or goes on."""

    provider: str
    failed_at: float | None = None
    """None: it did not fail."""
    stuck_for: float = 0.0
    """Seconds for which it could not be deleted, if somebody has to see to it."""


def resting(provider: str, past: Iterable[PastBurst], now: float) -> str:
    """Return why a provider is not used now; empty if it is. `past` has the latest burst first."""
    failures, latest = 0, 0.0
    counting = True
    for each in past:
        if each.provider != provider:
            continue
        if each.stuck_for:
            span = durations.encode(each.stuck_for)
            return f"{provider}: a burst there could not be deleted for {span}"
        counting = counting and each.failed_at is not None
        if counting:
            failures += 1
            latest = max(latest, each.failed_at or 0.0)
    if not failures:
        return ""
    rest = min(REST_SECONDS * 2.0 ** min(failures - 1, 16), MAX_REST_SECONDS)
    left = latest + rest - now
    if left <= 0:
        return ""
    times = "once" if failures == 1 else f"{failures} times in a row"
    return f"{provider}: bursts failed there {times}; it is tried again in {durations.encode(round(left))}"
