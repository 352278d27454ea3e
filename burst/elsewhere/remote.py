"""What bursting asks of an instance elsewhere. Each call may be repeated: it has the same effect once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.lifecycle.isolation import RemoteView
    from burst.lifecycle.records import BurstRecord


class RemoteInstance(Protocol):
    """The instance of one isolated burst. Its methods raise RetryLater where it does not answer."""

    @property
    def silent_since(self) -> float | None:
        """Since when it does not answer, in seconds since 1970; None: it does, or was not asked."""

    async def view(self, received: Mapping[str, int] | None) -> RemoteView:
        """Return what it reports, with what its job has written beyond these numbers of bytes by stream.

        None: no output is wanted.
        """

    async def submit(self, jobspec: Mapping[str, Any]) -> int:
        """Submit the job on hold, unless it is there; return its id. Raises CallInvalid if it is refused."""

    async def release(self) -> None:
        """Let the job start: of several the first one; the others are canceled, and have never run."""

    async def pack(self) -> None:
        """Have a job write the files that the job names as one archive, unless there is one that does."""

    async def cancel(self, reason: str) -> None:
        """Cancel the job."""


class RemoteInstances(Protocol):
    """Those of all isolated bursts, as one process reaches them."""

    def of(self, burst: BurstRecord) -> RemoteInstance:
        """Return the instance of a burst: it connects when it is asked for something."""

    async def leave(self, burst: BurstRecord) -> None:
        """Hang up: the burst is being deleted."""
