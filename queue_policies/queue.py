"""The indexed queue: whoever runs a policy keeps the waiting jobs in one of these."""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from queue_policies.records import QueuedJob

_order = attrgetter("order")


class IndexedQueue:
    """Jobs by priority descending, then id ascending; by id; and in classes of jobs that ask for the same."""

    def __init__(self, jobs: Iterable[QueuedJob] = ()) -> None:
        self._jobs: dict[int, QueuedJob] = {}
        self._ordered: list[QueuedJob] = []
        self._classes: dict[Hashable, list[QueuedJob]] = {}
        for job in jobs:
            self.add(job)

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[QueuedJob]:
        return iter(self._ordered)

    def __getitem__(self, job: int) -> QueuedJob:
        return self._jobs[job]

    def __contains__(self, job: object) -> bool:
        return job in self._jobs

    def classes(self) -> Iterable[Sequence[QueuedJob]]:
        """The groups of jobs with equal request and elastic range, each in the queue's order."""
        return self._classes.values()

    def add(self, job: QueuedJob) -> None:
        """Put a job in its place. Raises ValueError where its id is queued already."""
        if job.id in self._jobs:
            raise ValueError(f"job {job.id} is queued already")
        self._jobs[job.id] = job
        insort(self._ordered, job, key=_order)
        insort(self._classes.setdefault(_alike(job), []), job, key=_order)

    def remove(self, job_id: int) -> QueuedJob:
        """Take a job out and return it. Raises KeyError where it is not queued."""
        job = self._jobs.pop(job_id)
        _discard(self._ordered, job)
        group = self._classes[_alike(job)]
        _discard(group, job)
        if not group:
            del self._classes[_alike(job)]
        return job


def _alike(job: QueuedJob) -> Hashable:
    return (job.request, job.elastic)


def _discard(jobs: list[QueuedJob], job: QueuedJob) -> None:
    del jobs[bisect_left(jobs, job.order, key=_order)]
