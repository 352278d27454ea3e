"""Jobs that start once others have shrunk: until then they hold what is theirs already, and run nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.embedded import elastic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.embedded.elastic import Place
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.pool import Pool
    from minicluster.embedded.resource_set import Holding
    from queue_policies.records import QueuedJob


@dataclass(slots=True)
class Resize:
    """An order under way. Of the units that a shrinking job gives up, `promised` are for starters by id."""

    spare: int = 0  # what it gives up and nobody was promised
    promised: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Starter:
    """A job that starts when all of `donors` have shrunk."""

    queued: QueuedJob
    request: Resources
    donors: set[int]


class Starters:
    """Those that wait so, by id. `resizes` are the orders that their donors are amid."""

    def __init__(self, pool: Pool, resizes: dict[int, Resize]) -> None:
        self.pool = pool
        self._resizes = resizes
        self._waiting: dict[int, Starter] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, job: object) -> bool:
        return job in self._waiting

    def add(self, queued: QueuedJob, request: Resources, donors: Iterable[int]) -> None:
        """Promise the job what the donors give up, and hold for it what it needs besides."""
        self._waiting[queued.id] = Starter(queued, request, set(donors))
        missing = request.size
        for donor in donors:
            resize = self._resizes[donor]
            promised = min(resize.spare, missing)
            resize.spare -= promised
            resize.promised[queued.id] = promised
            missing -= promised
        for workers in range(missing // (request.size // request.workers), 0, -1):
            if self.pool.extend(queued.id, request.with_workers(workers)) is not None:
                return

    def cancel(self, job: int) -> QueuedJob:
        """The start is off: what the job had or was promised is nobody's."""
        starter = self._waiting.pop(job)
        self.pool.release(job)
        for donor in starter.donors:
            resize = self._resizes.get(donor)
            if resize is not None:
                resize.spare += resize.promised.pop(job)
        return starter.queued

    def refused(self, resize: Resize) -> list[QueuedJob]:
        """A donor gives nothing; return the jobs whose start is off by that."""
        return [self.cancel(job) for job in tuple(resize.promised)]

    def given(self, donor: int, resize: Resize, places: Sequence[Place]) -> list[Starter]:
        """A donor gave up these places, which are free by now; return who has all that it waited for."""
        left = list(places)
        ready = []
        for job, units in resize.promised.items():
            got = 0
            while got < units and left:
                place = left.pop(0)
                got += place.share[0].bit_count()
                self.pool.add(job, elastic.holding([place]))
            starter = self._waiting[job]
            starter.donors.discard(donor)
            if not starter.donors:
                del self._waiting[job]
                ready.append(starter)
        return ready

    def place(self, starter: Starter) -> tuple[Resources, Holding] | None:
        """What a job that has all gets: its size, or where the places do not suit that, a smaller one."""
        job, request = starter.queued.id, starter.request
        self.pool.release(job)
        for workers in range(request.workers, starter.queued.request.workers - 1, -1):  # type: ignore[attr-defined]
            smaller = request.with_workers(workers)
            holding = self.pool.alloc(job, smaller)
            if holding is not None:
                return smaller, holding
        return None
