"""The value of one condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import Condition

ConditionStatus = Literal["True", "False", "Unknown"]


class ConditionValue(NamedTuple):
    """The computed value of a condition."""

    status: ConditionStatus
    reason: str
    message: str
    since: datetime | None = None
    """Shown as the time of the last transition; None: when its status last changed."""


def unchanged(stored: Condition) -> ConditionValue:
    """Return a stored condition as it is, where nothing newer is known."""
    return ConditionValue(stored.status, stored.reason, stored.message)
