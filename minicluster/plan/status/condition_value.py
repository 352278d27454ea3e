"""The value of one condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import Condition

Status = Literal["True", "False", "Unknown"]


class ConditionValue(NamedTuple):
    """What a condition is to show. `since` stands in place of when its status last changed."""

    status: Status
    reason: str
    message: str
    since: datetime | None = None


def unchanged(stored: Condition) -> ConditionValue:
    """Return a stored condition as it is: nothing newer is known. Its message is passed on, never read."""
    return ConditionValue(stored.status, stored.reason, stored.message)
