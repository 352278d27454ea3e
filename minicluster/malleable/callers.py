"""The interface that a listener for programs calls."""

from __future__ import annotations

from typing import Protocol


class Callers(Protocol):
    """Receives the events of a listener's connections, which have numbers."""

    def opened(self, connection: int) -> None:
        """A connection was opened."""

    def received(self, connection: int, data: bytes) -> None:
        """Data came on a connection."""

    def closed(self, connection: int) -> None:
        """A connection was closed, or broke."""
