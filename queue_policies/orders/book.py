"""The orders under way, and the jobs that start once others have shrunk.

Until it starts, such a job holds the resources that it was given so far. Which those are is up to a `Room`:
cores of nodes, or a number of units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from queue_policies.queue import IndexedQueue
    from queue_policies.records import QueuedJob, Request, RunningJob
    from queue_policies.running import RunningJobs

Freed = TypeVar("Freed")
Given = TypeVar("Given")
Freed_contra = TypeVar("Freed_contra", contravariant=True)
Given_co = TypeVar("Given_co", covariant=True)


@dataclass(slots=True)
class UnderWay:
    """An order to a running job that is not done yet."""

    spare: int = 0
    """Units that the job gives up and that are promised to no starter."""
    promised: dict[int, int] = field(default_factory=dict)
    """Units that it gives up for starters, by their job ids."""


@dataclass(slots=True)
class Starter:
    """A job that starts after others have shrunk."""

    queued: QueuedJob
    request: Request
    """For the size at which it starts."""
    donors: set[int]
    """The jobs that have not shrunk yet."""


class Room(Protocol[Freed_contra, Given_co]):
    """Keeps what jobs hold."""

    def hold(self, starter: Starter, units: int) -> None:
        """Reserve free units for a starter, at most `units`, as far as they suit it."""

    def give(self, promised: Mapping[int, int], freed: Freed_contra) -> None:
        """Give starters their promised units from those that were freed."""

    def begin_after_shrinks(self, starter: Starter) -> Given_co | None:
        """Return a starter's resources, after it got all that was promised; None: they do not suit it."""

    def release(self, job: int) -> None:
        """Release all that the job holds."""


class OrderBook(Generic[Freed, Given]):
    """The orders under way and their starters; it keeps `queue` and `running` up to date for these."""

    def __init__(self, queue: IndexedQueue, running: RunningJobs, room: Room[Freed, Given]) -> None:
        self.room = room
        self._queue = queue
        self._running = running
        self._under_way: dict[int, UnderWay] = {}
        self._starters: dict[int, Starter] = {}

    @property
    def waiting(self) -> bool:
        """Whether a job waits for others to shrink."""
        return bool(self._starters)

    def __contains__(self, job: object) -> bool:
        return job in self._under_way

    def open(self, job: int, spare: int = 0) -> None:
        """Note an order to a running job, by which it gives up `spare` units."""
        self._running[job] = self._running[job]._replace(heeds=False)
        self._under_way[job] = UnderWay(spare)

    def wait_for(self, record: RunningJob, after: Iterable[int]) -> bool:
        """Have a queued job start when these have shrunk; return whether any of them has an order under way.

        `record` is its record among the running jobs.
        """
        donors = [donor for donor in after if donor in self._under_way]
        if donors:
            queued = self._queue.remove(record.id)
            starter = self._starters[record.id] = Starter(queued, record.request, set(donors))
            self.room.hold(starter, self._promise(record, donors))
            self._running[record.id] = record._replace(waits=True)
        return bool(donors)

    def _promise(self, record: RunningJob, donors: Iterable[int]) -> int:
        """Promise the job units that the donors give up; return how many more it needs."""
        missing = record.request.size
        for donor in donors:
            order = self._under_way[donor]
            units = min(order.spare, missing)
            order.spare -= units
            order.promised[record.id] = units
            missing -= units
        return missing

    def cancel(self, job: int) -> bool:
        """Cancel a start; return whether the job waited for others to shrink."""
        if job not in self._starters:
            return False
        self._cancel(job)
        return True

    def _cancel(self, job: int) -> QueuedJob:
        starter = self._starters.pop(job)
        self._running.pop(job)
        self.room.release(job)
        for donor in starter.donors:
            order = self._under_way.get(donor)
            if order is not None:
                order.spare += order.promised.pop(job)
        return starter.queued

    def done(self, donor: int, freed: Freed) -> list[tuple[QueuedJob, Given | None]]:
        """Close the order of a job that has shrunk, grown or ended; return the starters that wait no more.

        Each begins with the resources beside it; with None it is queued again.
        """
        order = self._under_way.pop(donor, None)
        if order is None:
            return []
        self.room.give(order.promised, freed)
        starters = [self._starters[job] for job in order.promised]
        for starter in starters:
            starter.donors.discard(donor)
        return [self._begin_after_shrinks(starter) for starter in starters if not starter.donors]

    def _begin_after_shrinks(self, starter: Starter) -> tuple[QueuedJob, Given | None]:
        del self._starters[starter.queued.id]
        given = self.room.begin_after_shrinks(starter)
        if given is None:
            self._running.pop(starter.queued.id)
            self._queue.add(starter.queued)
        return starter.queued, given

    def refused(self, donor: int) -> None:
        """Close an order that came to nothing; the jobs that waited for it are queued again."""
        for job in tuple(self._under_way.pop(donor).promised):
            self._queue.add(self._cancel(job))
