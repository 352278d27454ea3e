"""Documents whose planning takes more time or memory than it may: how often they are tried."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from minicluster.document import PlanningStatus
from minicluster.plan.status.times import timestamp, whole

if TYPE_CHECKING:
    from minicluster.document import Status
    from minicluster.plan.objects.fields import Object

RETRY_INTERVALS = (60, 600, 3_600)
"""Seconds until such a document is tried again: after the first time, the second, and each further one."""


def record(stored: Status, generation: int, now: datetime) -> PlanningStatus:
    """Return the record of one more time that planning this generation took too much."""
    known = stored.planning
    before = known.attempts if known is not None and known.generation == generation else 0
    interval = RETRY_INTERVALS[min(before, len(RETRY_INTERVALS) - 1)]
    due = timestamp(whole(now) + timedelta(seconds=interval))
    return PlanningStatus(generation=generation, attempts=before + 1, retry_at=due)


def fields(found: PlanningStatus) -> Object:
    """Return the status' field."""
    return {"planning": found.model_dump(mode="json", by_alias=True)}


def seconds_left(stored: PlanningStatus | None, generation: int, now: datetime) -> float | None:
    """Return for how long a document is not to be planned; None: it may be planned now."""
    if stored is None or stored.generation != generation:
        return None
    left = (datetime.fromisoformat(stored.retry_at) - now).total_seconds()
    return left if left > 0 else None
