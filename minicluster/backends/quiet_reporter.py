"""The reporter of a service, which shows no progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class QuietReporter:
    """Shows what the back end would have a user read, if anything."""

    def __init__(self, show: Callable[[str], None] = lambda _text: None) -> None:
        self._show = show

    def notice(self, text: str) -> None:
        """Show a message."""
        self._show(text)

    def bring_up(self, joined: int, size: int) -> None:
        """Show nothing."""

    def started(self) -> None:
        """Show nothing."""

    def errors(self, data: bytes) -> None:
        """Show nothing: there is no command."""

    def ended(self, times: object, size: int) -> None:
        """Show nothing."""
