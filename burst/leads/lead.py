"""What bursting asks of a MiniCluster's lead. Each call may be repeated: it has the same effect once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
