"""What holds about one condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

Status = Literal["True", "False", "Unknown"]


class Finding(NamedTuple):
    """What holds about one condition; `since` stands in place of when its status last changed."""

    status: Status
    reason: str
    message: str
    since: datetime | None = None
