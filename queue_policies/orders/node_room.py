"""The resources that starters hold on an instance's nodes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from queue_policies.errors import PlacementDefect
from queue_policies.nodes.slots import allocation_of
from queue_policies.orders.records import Begun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import Allocation, NodeRequest, Slot
    from queue_policies.orders.book import Starter


class NodeRoom:
    """Implements `book.Room` on a pool of nodes. What is freed are slots.

    Where the placement is defective there is no room: the next decision reports the defect.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def hold(self, starter: Starter, units: int) -> None:
        """Reserve as many whole workers as are free, up to `units`."""
        request = cast("NodeRequest", starter.request)
        for workers in range(units // (request.size // request.workers), 0, -1):
            with suppress(PlacementDefect):
                if self.pool.extend(starter.queued.id, request.with_workers(workers)) is not None:
                    return

    def give(self, promised: Mapping[int, int], freed: Sequence[Slot]) -> None:
        """Give the slots one by one, to each starter until it has its promised units."""
        left = list(freed)
        for job, units in promised.items():
            got = 0
            while got < units and left:
                slot = left.pop(0)
                got += slot.resources[0].bit_count()
                self.pool.add(job, allocation_of([slot]))

    def begin_after_shrinks(self, starter: Starter) -> Begun | None:
        """Place the job at its size, or at a smaller one if the slots do not suit that; None: at none."""
        queued, request = starter.queued, cast("NodeRequest", starter.request)
        self.pool.release(queued.id)
        for workers in range(request.workers, cast("NodeRequest", queued.request).workers - 1, -1):
            smaller = request.with_workers(workers)
            with suppress(PlacementDefect):
                allocation = self.pool.alloc(queued.id, smaller)
                if allocation is not None:
                    return Begun(queued, smaller, allocation)
        return None

    def reach(self, job: int, request: NodeRequest, workers: int) -> int:
        """Return with how many workers, at most `workers`, a running job could go on, on what is free now."""
        for more in range(workers - request.workers, 0, -1):
            with suppress(PlacementDefect):
                if self.pool.extension(job, request.with_workers(more)) is not None:
                    return request.workers + more
        return request.workers

    def reduce(self, job: int, part: Allocation) -> None:
        """Release a part of what the job holds, as far as its ranks are here."""
        allocation = self.pool.allocation(job)
        self.pool.reduce(job, {rank: resources for rank, resources in part.items() if rank in allocation})

    def release(self, job: int) -> None:
        """Release all that the job holds."""
        self.pool.release(job)
