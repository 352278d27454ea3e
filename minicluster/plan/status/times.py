"""Times as a status keeps them: whole seconds, UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Return a time as Kubernetes writes it (RFC 3339, whole seconds, UTC)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def whole(moment: datetime) -> datetime:
    """Return a time as it is after it was written into a status and read again."""
    return moment.astimezone(UTC).replace(microsecond=0)
