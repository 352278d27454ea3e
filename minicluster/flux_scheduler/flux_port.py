"""What the controller of companions needs of Flux."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.malleable.events import ConnectionId


class Flux(Protocol):
    """The instance. It calls back later, never from within these calls."""

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after these seconds."""

    def fetch_jobspec(self, job: int, then: Callable[[dict[str, Any] | None], None]) -> None:
        """Read a job's jobspec with its environment; pass on None if that fails."""

    def submit(self, jobspec: dict[str, Any], then: Callable[[int | str], None]) -> None:
        """Submit a job ahead of others; pass on its id, or why that failed."""

    def cancel(self, job: int, reason: str) -> None:
        """Cancel a job, if it has not ended."""

    def annotate(self, job: int, note: dict[str, Any], *, logged: bool = True) -> None:
        """Write a note to a job's annotations, and to its eventlog if it is `logged`; None removes a key."""

    def send(self, connection: ConnectionId, data: bytes) -> None:
        """Send to a program."""

    def hang_up(self, connection: ConnectionId) -> None:
        """Close a connection once all is sent."""

    def address(self) -> str:
        """Return the address for programs, host:port. Raises OSError."""

    def schedule_decision(self) -> None:
        """Have the policy decide, as something has changed."""
