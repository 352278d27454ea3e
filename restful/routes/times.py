"""Times in requests and answers: as RFC 3339 writes them."""

import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator


def utc(seconds: float) -> datetime.datetime:
    """Return a time in seconds since 1970 as one that an answer has."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _written(value: Any) -> Any:
    """Refuse a number, which would be read as seconds since 1970, or as days: nobody could know which."""
    if isinstance(value, str) and "-" in value[1:]:
        return value
    raise ValueError("is a date, such as 2026-01-31, or a time, such as 2026-01-31T12:00:00Z")


Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
Day = Annotated[datetime.date, BeforeValidator(_written)]
