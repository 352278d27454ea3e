"""What the controller of companions needs of Flux."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.malleable.events import Connection


class Flux(Protocol):
    """The instance. Answers come later, never from within these calls."""

    def clock(self) -> float:
        """The time."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back."""

    def fetch_jobspec(self, job: int, then: Callable[[dict[str, Any] | None], None]) -> None:
        """Ask for a job's whole jobspec; None where there is none."""

    def submit(self, jobspec: dict[str, Any], then: Callable[[int | str], None]) -> None:
        """Submit a job, ahead of others; its id, or why that failed."""

    def cancel(self, job: int, reason: str) -> None:
        """End a job, if it has not ended."""

    def annotate(self, job: int, note: dict[str, Any]) -> None:
        """Write it to a job's annotations and eventlog."""

    def send(self, connection: Connection, data: bytes) -> None:
        """Send to a program."""

    def hang_up(self, connection: Connection) -> None:
        """Close a connection once all is sent."""

    def address(self) -> str:
        """Where programs reach the controller, host:port. Raises OSError."""

    def schedule_decision(self) -> None:
        """Something changed that the policy should see."""
