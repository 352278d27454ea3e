"""The indexed queue, in which an engine keeps the waiting jobs."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from queue_policies.records import QueuedJob

    Order = tuple[int, int]

_BLOCK = 256  # jobs in a block. A search goes through one block, and through all blocks: about √(100,000)


class IndexedQueue:
    """Jobs by priority descending, then id ascending; by id; and in classes of equal requests.

    A job is added to its class at the next call of `classes`: many jobs start before.
    """

    def __init__(self, jobs: Iterable[QueuedJob] = ()) -> None:
        self._jobs: dict[int, QueuedJob] = {}
        self._line = Line()
        self._unclassed: dict[int, QueuedJob] = {}
        self._sizes: list[int] = []  # of the classes, ascending
        self._classes: dict[int, dict[Hashable, Line]] = {}  # by size, then by request and elastic range
        for job in jobs:
            self.add(job)

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[QueuedJob]:
        return iter(self._line)

    def __getitem__(self, job: int) -> QueuedJob:
        return self._jobs[job]

    def __contains__(self, job: object) -> bool:
        return job in self._jobs

    def classes(self, most: float = math.inf) -> Iterator[Line]:
        """Yield the classes of jobs with equal request and elastic range that need at most `most` units."""
        for job in self._unclassed.values():
            self._class(job)
        self._unclassed.clear()
        for size in self._sizes:
            if size > most:
                return
            yield from self._classes[size].values()

    def add(self, job: QueuedJob) -> None:
        """Add a job. Raises ValueError if its id is queued already."""
        if job.id in self._jobs:
            raise ValueError(f"job {job.id} is queued already")
        self._jobs[job.id] = self._unclassed[job.id] = job
        self._line.add(job.order, job)

    def _class(self, job: QueuedJob) -> None:
        size = job.request.size
        classes = self._classes.get(size)
        if classes is None:
            insort(self._sizes, size)
            classes = self._classes[size] = {}
        alike = _alike(job)
        line = classes.get(alike)
        if line is None:
            line = classes[alike] = Line()
        line.add(job.order, job)

    def remove(self, job_id: int) -> QueuedJob:
        """Remove a job and return it. Raises KeyError if it is not queued."""
        job = self._jobs.pop(job_id)
        order = job.order
        self._line.remove(order)
        if self._unclassed.pop(job_id, None) is not None:
            return job
        alike = _alike(job)
        size = job.request.size
        classes = self._classes[size]
        line = classes[alike]
        line.remove(order)
        if not line:
            del classes[alike]
            if not classes:
                del self._classes[size]
                del self._sizes[bisect_left(self._sizes, size)]
        return job


class Line:
    """Jobs in the queue's order, in blocks that keep their shortest time limit."""

    __slots__ = ("_blocks", "_lasts")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._lasts: list[Order] = []  # the last order of each block

    def __iter__(self) -> Iterator[QueuedJob]:
        for block in self._blocks:
            yield from block.jobs

    def __bool__(self) -> bool:
        return bool(self._blocks)

    @property
    def head(self) -> QueuedJob:
        """The first job."""
        return self._blocks[0].jobs[0]

    def after(self, order: Order, shorter: float = math.inf) -> QueuedJob | None:
        """Return the first job behind `order` whose limit is below `shorter` (infinite: any), or None."""
        index = bisect_right(self._lasts, order)
        if index == len(self._blocks):
            return None
        block = self._blocks[index]
        position = bisect_right(block.orders, order)
        if shorter == math.inf:
            return block.jobs[position]
        while True:
            if block.shortest() < shorter:
                for job in block.jobs[position:]:
                    if job.limit < shorter:
                        return job
            index, position = index + 1, 0
            if index == len(self._blocks):
                return None
            block = self._blocks[index]

    def add(self, order: Order, job: QueuedJob) -> None:
        """Insert a job by its order."""
        if not self._blocks:
            self._blocks.append(_Block([order], [job]))
            self._lasts.append(order)
            return
        index = min(bisect_left(self._lasts, order), len(self._blocks) - 1)
        block = self._blocks[index]
        block.insert(order, job)
        if len(block.jobs) > 2 * _BLOCK:
            self._blocks.insert(index, block.split())
            self._lasts.insert(index, self._blocks[index].orders[-1])
            index += 1
        self._lasts[index] = block.orders[-1]

    def remove(self, order: Order) -> None:
        """Remove the job with this order."""
        index = bisect_left(self._lasts, order)
        block = self._blocks[index]
        block.discard(order)
        if block.jobs:
            self._lasts[index] = block.orders[-1]
        else:
            del self._blocks[index], self._lasts[index]


class _Block:
    """Consecutive jobs of a line."""

    __slots__ = ("_shortest", "jobs", "orders")

    def __init__(self, orders: list[Order], jobs: list[QueuedJob]) -> None:
        self.orders = orders
        self.jobs = jobs
        self._shortest: float | None = None  # None: to be computed again

    def shortest(self) -> float:
        """Return the least time limit."""
        if self._shortest is None:
            self._shortest = min(job.limit for job in self.jobs)
        return self._shortest

    def insert(self, order: Order, job: QueuedJob) -> None:
        position = bisect_left(self.orders, order)
        self.orders.insert(position, order)
        self.jobs.insert(position, job)
        if self._shortest is not None and job.limit < self._shortest:
            self._shortest = job.limit

    def discard(self, order: Order) -> None:
        position = bisect_left(self.orders, order)
        if self.jobs[position].limit == self._shortest:
            self._shortest = None
        del self.orders[position], self.jobs[position]

    def split(self) -> _Block:
        """Cut off and return the first half."""
        half = len(self.jobs) // 2
        first = _Block(self.orders[:half], self.jobs[:half])
        del self.orders[:half], self.jobs[:half]
        self._shortest = None
        return first


def _alike(job: QueuedJob) -> Hashable:
    return (job.request, job.elastic)
