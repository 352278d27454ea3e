"""Applies a policy's actions to an instance's queue, pool and orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queue_policies.errors import PlacementDefect
from queue_policies.orders.records import Begun, GrowOrder, Misfit, ShrinkOrder, record
from queue_policies.records import Grow, Shrink, Start

if TYPE_CHECKING:
    from queue_policies.nodes.records import NodeRequest
    from queue_policies.orders.resizing import Resizing
    from queue_policies.queue import IndexedQueue
    from queue_policies.records import Action
    from queue_policies.running import RunningJobs


class Actions:
    """Turns starts, grows and shrinks into jobs that begin and orders to running ones."""

    def __init__(self, queue: IndexedQueue, running: RunningJobs, resizing: Resizing) -> None:
        self._queue = queue
        self._running = running
        self._resizing = resizing

    def apply(self, action: Action, now: float) -> Begun | GrowOrder | ShrinkOrder | Misfit | None:
        """Apply an action; return what follows for a job now, if anything does."""
        if isinstance(action, Start):
            return self._start(action, now)
        if isinstance(action, Grow):
            return self._grow(action)
        if isinstance(action, Shrink):
            return self._resizing.shrink(action)
        return None

    def _grow(self, action: Grow) -> GrowOrder | Misfit | None:
        try:
            return self._resizing.grow(action)
        except PlacementDefect as defect:
            return Misfit(action.job, action.size, str(defect))

    def _start(self, action: Start, now: float) -> Begun | Misfit | None:
        queued = self._queue[action.job]
        request = cast("NodeRequest", queued.request)
        if action.size is not None and action.size != request.size:
            request = request.sized(action.size)
        if self._resizing.wait_for(queued, request, action.after, now):
            return None
        try:
            allocation = self._resizing.room.pool.alloc(queued.id, request)
        except PlacementDefect as defect:
            return Misfit(queued.id, request.size, str(defect))
        if allocation is None:
            return Misfit(queued.id, request.size)
        self._queue.remove(queued.id)
        self._running[queued.id] = record(queued, request, now)
        return Begun(queued, request, allocation)
