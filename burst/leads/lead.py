"""What bursting asks of a MiniCluster's lead. Each call may be repeated: it has the same effect once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from burst.lifecycle.isolation import StandIn
    from burst.lifecycle.records import SlotView


class BurstLead(Protocol):
    """A lead. Its methods raise LeadAway."""

    async def view(self, slot: str, label: str) -> SlotView:
        """Return what it reports of a slot, with the jobs by which a burst has tried its ranks."""

    async def probe(self, slot: str, label: str, ranks: Iterable[int]) -> None:
        """Undrain ranks of a slot, and try a job on each that the burst has not tried yet."""

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        """Move jobs into a queue; return by job why it was not moved, empty where it is there now."""

    async def start_queue(self, queue: str) -> None:
        """Have jobs of a queue start."""

    async def close(self, slot: str, nodes: int, reason: str) -> None:
        """Stop a slot's queue, and drain so many of its ranks."""

    async def conclude(self, slot: str, jobs: Iterable[int], since: float) -> Mapping[int, str]:
        """Return what became of a burst's jobs, when nothing of them runs in the slot any more.

        Those that ended because their nodes were lost, after a time in seconds since 1970, begin anew, none
        of them twice.
        """

    async def restart(self, jobs: Iterable[int]) -> None:
        """Have running jobs begin anew elsewhere, none of them twice."""


class StandInLead(Protocol):
    """A lead as isolated bursts ask it, by a burst's label. Its methods raise LeadAway."""

    async def stand_in(self, label: str, job: int) -> None:
        """Have a stand-in take a pending job's place: one, however often it is asked.

        One that was killed before `finish` gets a successor, which has its place and prints from the start.
        Raises StandInRefused, and then the job is as it was.
        """

    async def standing(self, label: str) -> StandIn | None:
        """Return the latest stand-in of a burst; None: there is none. One that is done loses its spool.

        One that was killed before it was done gets its successor here as well, also after `finish`.
        """

    async def write(self, label: str, stream: str, offset: int, data: bytes) -> int:
        """Append to a stream ("stdout", "stderr", "results") what begins at a byte; return what it has then.

        Bytes that are there already are left out. Behind a gap nothing is written: go on from the number
        that is returned. Raises SpoolRefused for good; a full disk is LeadAway.
        """

    async def finish(self, label: str, status: int, digest: str, note: str) -> None:
        """Let the stand-in end: with the wait status of the job elsewhere, once it has delivered all.

        Returns once it has ended; LeadAway: it takes longer. One whose original has not made room yet is
        withdrawn, and the job is as it was. `digest` is the SHA-256 of the results in hex (empty: there are
        none). `note` is written to its stderr. Raises SpoolRefused.
        """

    async def jobspec(self, job: int) -> Mapping[str, Any]:
        """Return a job's jobspec as it was submitted, with its environment."""


class IsolatedLead(StandInLead, Protocol):
    """What the service needs besides for bursts that do not join."""

    async def identity(self) -> str:
        """Return what tells the lead's instance from one that takes its place."""

    async def begin_anew(self, standing: int, job: int, reason: str) -> str:
        """Have a job begin anew in the place of its stand-in, which ends; return what became of it, in words.

        One that must not run twice is lost: its stand-in is left as it is.
        """
