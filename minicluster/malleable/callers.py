"""What a server of programs' connections calls."""

from __future__ import annotations

from typing import Protocol


class Callers(Protocol):
    """Is called for each connection to a listener."""

    def opened(self, connection: int) -> None:
        """A connection was opened."""

    def received(self, connection: int, data: bytes) -> None:
        """Data came on a connection."""

    def closed(self, connection: int) -> None:
        """A connection was closed, or broke."""
