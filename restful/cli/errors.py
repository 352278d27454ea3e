"""What keeps `minicluster serve` from serving."""

from __future__ import annotations

from minicluster.backends.errors import BackendError, WrongRequest


class ServeError(BackendError):
    """The service cannot be started, or has failed; the message has what would be right."""


class WrongOptions(WrongRequest):
    """Options that do not go together."""
