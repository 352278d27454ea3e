"""Times in answers: RFC 3339, in UTC."""

from datetime import UTC, datetime


def utc(seconds: float) -> datetime:
    """Return epoch seconds as a time."""
    return datetime.fromtimestamp(seconds, UTC)
