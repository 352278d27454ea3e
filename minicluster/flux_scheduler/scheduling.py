"""The pending and running jobs and the free resources, and the policy's decisions on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from broker_config.formats.jobid import f58
from minicluster.flux_scheduler.errors import NoRoom
from minicluster.flux_scheduler.job_allocations import JobAllocations
from minicluster.flux_scheduler.task_shapes import parsed_with_shape
from queue_policies.decision import decide
from queue_policies.errors import PolicyDefect
from queue_policies.nodes.feasibility import counted_cores, infeasible
from queue_policies.nodes.slots import allocation_of, slots_of
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Begun, GrowOrder, Misfit, ShrinkOrder
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    Elastic,
    Happened,
    QueuedJob,
    Reserve,
    State,
    WakeAt,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_config.formats.jobspec import RequestedResources
    from broker_config.formats.resource_set import Allocation
    from minicluster.flux_scheduler.ranks import Ranks
    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import NodeRequest, Slot
    from queue_policies.placement.protocol import Placement
    from queue_policies.policy import Policy
    from queue_policies.records import Action


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job that starts. A malleable one starts at its least size."""

    job: QueuedJob
    allocation: Allocation
    request: NodeRequest
    """What the allocation is for, at the size that was chosen."""
    slots: int
    """How many slots the allocation has."""
    more: tuple[Slot, ...] = ()
    """Reserved for companions, by which a malleable job grows at once."""


@dataclass(slots=True)
class DecisionResult:
    """The result of one decision. Times are seconds since 1970."""

    starts: list[StartedJob] = field(default_factory=list)
    orders: list[GrowOrder | ShrinkOrder] = field(default_factory=list)
    reserved: dict[int, float] = field(default_factory=dict)
    """The start of each job that has a reservation."""
    wake: float | None = None
    """When the policy is to be asked again."""


class Scheduling:
    """The state on which the policy decides. Jobs are added by `arrive`.

    `owner` is the user whose jobs can be malleable, as companions run as this user's; None: no job can.
    `placement` chooses nodes and cores; None: low ranks are filled first.
    """

    def __init__(
        self, policy: Policy, ranks: Ranks, owner: int | None = None, placement: Placement | None = None
    ) -> None:
        self.policy = policy
        self._owner = owner
        self.queue = IndexedQueue()
        self.expected: dict[int, float] = {}
        """When jobs are expected to start, by the policy's reservations."""
        self.defect = ""
        """What was wrong with the policy's last decision, empty: nothing."""
        self._changes: list[Change] = []
        self.allocations = JobAllocations(ranks, self.queue, self._changes.append, placement)
        self.running = self.allocations.running
        self.resizing = self.allocations.resizing
        self._actions = Actions(self.queue, self.running, self.resizing)

    @property
    def pool(self) -> Pool:
        """The pool of nodes; another one after ranks have left."""
        return self.allocations.pool

    @property
    def malleable(self) -> bool:
        """Whether there is a job that can be resized."""
        return bool(self.allocations.malleable)

    def infeasible(self, jobspec: Any) -> str | None:
        """Return why such a job can never run here, or None.

        Raises JobspecError or TaskAttributeError if the jobspec is wrong.
        """
        return infeasible(self.pool, parsed_with_shape(jobspec).resources)

    def queued(self, job: int, priority: int, user: int, submitted: float, jobspec: Any) -> QueuedJob:
        """Return the job as a record for the queue.

        The policy chooses the size of an elastic job when it starts. Only the owner's jobs are malleable.
        Raises JobspecError or TaskAttributeError if the jobspec is wrong.
        """
        parsed = parsed_with_shape(jobspec)
        limit = parsed.duration or math.inf
        if parsed.elastic is None:
            return QueuedJob(job, priority, parsed.resources, submitted, limit, user)
        request = parsed.resources._replace(cores=counted_cores(self.pool, parsed.resources))
        unit = request.size // parsed.elastic.least
        is_malleable = parsed.elastic.malleable and user == self._owner
        most = parsed.elastic.most
        if is_malleable:
            most = min(most, max(self.pool.total // unit, parsed.elastic.least))
        sizes = Elastic(request.size, most * unit, is_malleable)
        return QueuedJob(job, priority, request, submitted, limit, user, sizes)

    def arrive(self, job: QueuedJob) -> None:
        """Add a job that may start from now on."""
        self.queue.add(job)
        self._changed(Happened.ARRIVED, job.id)

    def leave(self, job: int) -> None:
        """Remove a job that must not start any more."""
        if job in self.queue:
            self.queue.remove(job)
            change: Happened | None = Happened.LEFT
        else:
            change = self.resizing.cancel(job)
        if change is not None:
            self.expected.pop(job, None)
            self._changed(change, job)

    def prioritize(self, job: int, priority: int) -> None:
        """Change a job's priority, and with it its position in the queue."""
        if job in self.queue and self.queue[job].priority != priority:
            changed = self.queue[job]._replace(priority=priority)
            self.leave(job)
            self.arrive(changed)

    def woken(self) -> None:
        """Note that the time has come for which the policy asked."""
        self._changed(Happened.WOKEN)

    def _changed(self, what: Happened, job: int | None = None) -> None:
        self._changes.append(Change(what, job))

    def decide(self, now: float) -> DecisionResult:
        """Ask the policy, and apply its decision. On an error set `defect`; jobs wait for the next change."""
        changes = tuple(self._changes)
        self._changes.clear()
        decision = DecisionResult([self._started(begun) for begun in self.resizing.ready(now)])
        for started in decision.starts:
            self.expected.pop(started.job.id, None)
        if not changes or not (len(self.queue) or self.malleable):
            return decision
        try:
            state = State(self.queue, self.running, self.pool, changes)
            self._apply(decide(self.policy, state, now), now, decision)
            self.defect = ""
        except (PolicyDefect, NoRoom) as error:
            self.defect = str(error)
            # The policy has not handled these changes, so at the next one it has to check everything.
            self._changes.append(Change(Happened.CLUSTER))
        return decision

    def _started(self, begun: Begun) -> StartedJob:
        job, request = begun.queued, cast("RequestedResources", begun.request)
        if job.elastic is None or not job.elastic.malleable:
            return StartedJob(job, begun.allocation, request, request.slots_in_all)
        self.allocations.malleable.add(job.id)
        least = cast("RequestedResources", job.request)
        slots = slots_of(begun.allocation, request)
        more = tuple(slots[least.workers :])
        if more:
            self.resizing.begin(job.id)
        return StartedJob(job, allocation_of(slots[: least.workers]), least, least.slots_in_all, more)

    def _apply(self, actions: Sequence[Action], now: float, decision: DecisionResult) -> None:
        for action in actions:
            if isinstance(action, WakeAt):
                decision.wake = action.time if decision.wake is None else min(decision.wake, action.time)
            elif isinstance(action, Reserve):
                decision.reserved |= {action.job: action.at} if action.job in self.queue else {}
            else:
                self._take(self._actions.apply(action, now), decision)
        for started in decision.starts:
            self.expected.pop(started.job.id, None)
        self.expected.update(decision.reserved)

    def _take(self, deed: Begun | GrowOrder | ShrinkOrder | Misfit | None, decision: DecisionResult) -> None:
        if isinstance(deed, Begun):
            decision.starts.append(self._started(deed))
        elif isinstance(deed, Misfit):
            raise NoRoom(deed.described(self.policy.name, f"{f58(deed.job)} at {deed.size} cores"))
        elif deed is not None:
            decision.orders.append(deed)
