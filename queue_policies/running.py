"""The jobs that hold resources, as an engine keeps them for a policy."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queue_policies.records import RunningJob


class RunningJobs:
    """The jobs by id, by the ends of their time limits, and in the queue's order. Set a record to change it.

    The queue's order is kept from the first call of `by_order` on, which many policies never make.
    """

    def __init__(self, jobs: Iterable[RunningJob] = ()) -> None:
        self._jobs: dict[int, RunningJob] = {}
        self._ends: list[tuple[float, int]] = []
        self._orders: list[tuple[int, int]] | None = None
        for job in jobs:
            self[job.id] = job

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[int]:
        return iter(self._jobs)

    def __getitem__(self, job: int) -> RunningJob:
        return self._jobs[job]

    def __contains__(self, job: object) -> bool:
        return job in self._jobs

    def __setitem__(self, job: int, record: RunningJob) -> None:
        old = self._jobs.get(job)
        if old is None or old.end != record.end or old.priority != record.priority:
            self.pop(job)
            insort(self._ends, (record.end, job))
            if self._orders is not None:
                insort(self._orders, record.order)
        self._jobs[job] = record

    def pop(self, job: int) -> RunningJob | None:
        """Remove and return a job, or None if it is not there."""
        record = self._jobs.pop(job, None)
        if record is not None:
            del self._ends[bisect_left(self._ends, (record.end, job))]
            if self._orders is not None:
                del self._orders[bisect_left(self._orders, record.order)]
        return record

    def by_end(self) -> Iterator[RunningJob]:
        """Iterate over the jobs by the ends of their time limits, then by id."""
        jobs = self._jobs
        return (jobs[job] for _, job in self._ends)

    def by_order(self) -> list[RunningJob]:
        """Return the jobs in the queue's order: priority descending, then id ascending."""
        jobs = self._jobs
        if self._orders is None:
            self._orders = sorted(record.order for record in jobs.values())
        return [jobs[job] for _, job in self._orders]
