"""Whether the service is live and ready, from what it has done so far; pure."""

from __future__ import annotations

from typing import NamedTuple

LEDGER_SECONDS = 30.0
"""After so long without a read of the ledger it counts as away."""
TICK_SECONDS = 120.0
"""Age of the last look at bursts beyond which they are not looked after: calls of providers may take long."""
HUNG_SECONDS = 900.0
"""Age of it beyond which the process hangs, and is started anew. Its bursts go on meanwhile."""


class ServiceStanding(NamedTuple):
    """What a process has done so far; times are in seconds since 1970."""

    begun: float
    """When it began to look at bursts, or was started."""
    leads: bool
    """Whether it holds the Lease."""
    holder: str = ""
    """Who holds it; empty: nobody, or it was never read."""
    lease_trouble: str = ""
    """Why the Lease could not be used the last time."""
    ledger_read: float | None = None
    """When the ledger was read the last time."""
    ended: float | None = None
    """When the last look at bursts has ended."""
    done: float | None = None
    """When the last one has ended that did all there was to do."""
    trouble: str = ""
    """Why the last one did not."""


def not_ready(standing: ServiceStanding, now: float) -> str:
    """Return why a process does not look after bursts, nor stands by for that; empty: it does."""
    if not standing.leads:
        return standing.lease_trouble or ("" if standing.holder else "no Lease was seen yet")
    if standing.ledger_read is None:
        return "the ledger was not read yet"
    if now - standing.ledger_read > LEDGER_SECONDS:
        return "the ledger cannot be read now"
    if standing.done is None:
        return standing.trouble or "bursts were not looked at yet"
    if now - standing.done > TICK_SECONDS:
        return standing.trouble or f"bursts were looked at {now - standing.done:.0f} s ago the last time"
    return ""


def not_live(standing: ServiceStanding, now: float) -> str:
    """Return why a process hangs; empty: it does not. One that stands by has nothing to do."""
    since = standing.begun if standing.ended is None else standing.ended
    if standing.leads and now - since > HUNG_SECONDS:
        return f"no look at bursts has ended for {now - since:.0f} s"
    return ""
