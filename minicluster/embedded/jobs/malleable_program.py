"""A malleable job that runs: its program's answers to orders, and what they mean for tasks and resources.

Tasks start and end, resources are allocated and freed, and the scheduler and the job's eventlogs are updated.
The eventlog has `resize-order {order, size}`, then `resource-update {order, size, R_lite, nodelist, nslots}`,
or `resize-refused` or `resize-expired {order, reason}` at the old size. guest.exec.eventlog has the stages of
an order: `resize-accept {order}` (workers are started), `resize-join` (all of them have joined), or
`resize-release` (workers that leave have no data any more). Resources that are reserved for a growth that
failed are freed once every process on them has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from broker_config.formats.job_states import JobState
from minicluster.embedded.jobs.job_log import EXEC
from minicluster.malleable import events
from minicluster.malleable.errors import NotAccepting
from minicluster.malleable.session import FIRST
from queue_policies.nodes.slots import allocation_of, slots_of
from queue_policies.orders.program import ProgramOrders
from queue_policies.orders.records import GrowOrder, ShrinkOrder
from queue_policies.placement.give_back import preferred

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Mapping, Sequence

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.embedded.jobs.allocations import Allocations
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.malleable.events import SessionEvent, Step
    from minicluster.malleable.session import Session
    from queue_policies.nodes.records import Slot


@dataclass(frozen=True, slots=True)
class MalleableContext:
    """The common dependencies and settings of all malleable jobs."""

    parts: Parts
    log: JobLog
    commits: CommitLoop
    allocations: Allocations
    leave: float
    """Seconds that released workers have to end by themselves before they are ended."""
    take: Callable[[Step], None]
    """Sends a step's data, closes its connections, and processes its events."""

    def stage(self, job: ActiveJob, name: str, order: int) -> None:
        """Log a stage of an order in guest.exec.eventlog."""
        self.log.append(job, name, {"order": order}, EXEC)

    def show(self, job: ActiveJob, workers: int, **what: Any) -> None:
        """Show in listings how many workers the job has, and what of its latest order is known."""
        self.log.annotate(job, {"user": {"workers": workers, **what}})

    def preferred(self, slots: Mapping[int, Slot], count: int) -> Sequence[int]:
        """Return which of these workers best leave, the best first, where a placement chooses cores."""
        pool = self.parts.scheduler.pool
        if pool.placement is None:
            return ()
        return preferred(slots, count, FIRST + 1, pool.nodes, pool.rank_resources)

    def request(self, job: ActiveJob) -> RequestedResources:
        """Return the job's request at its current size."""
        return cast("RequestedResources", self.parts.scheduler.running[job.id].request)


class MalleableProgram:
    """Processes the events of one program's session."""

    def __init__(
        self, job: ActiveJob, session: Session, slots: Sequence[Slot], around: MalleableContext
    ) -> None:
        self.session = session
        self._job = job
        self._orders = ProgramOrders(session, slots)
        self._around = around
        self._parts = around.parts
        self._timer: asyncio.TimerHandle | None = None
        self._due: float | None = None
        self._closed = False

    def close(self) -> None:
        """Note that the job is over."""
        self._closed = True
        self._orders.end("the job has ended")
        if self._timer is not None:
            self._timer.cancel()

    def order(self, order: GrowOrder | ShrinkOrder, on_end: Callable[[str], None] | None = None) -> None:
        """Order the job to grow into resources that are reserved for it, or to give up some workers.

        `on_end` is called with why the order failed; with an empty text when it is done.
        """
        session, self._orders.on_end = self.session, on_end
        if isinstance(order, ShrinkOrder):
            members = {task: self._orders.slots[task] for task in session.workers}
            prefer = self._around.preferred(members, order.workers)
            self._send(-order.workers, lambda now: session.shrink(order.workers, now, prefer))
            return
        reserved = self._orders.reserved = slots_of(order.more, self._around.request(self._job))
        hosts = [self._around.allocations.host(slot) for slot in reserved]
        self._send(len(hosts), lambda now: session.grow(hosts, now))

    def _send(self, change: int, send: Callable[[float], Step]) -> None:
        size = self.session.size + change
        try:
            step = send(self._parts.clock())
        except (NotAccepting, ValueError) as error:
            self._parts.loop.call_soon(self._came_to_nothing, "resize-refused", str(error))
            return
        self._around.log.append(self._job, "resize-order", {"order": self._orders.sent(), "size": size})
        self._around.show(self._job, self.session.size, target=size)
        self._around.take(step)
        self._arm()

    def task_ended(self, task: int) -> None:
        """Note that a task ended."""
        self._orders.alive.discard(task)
        self._around.take(self.session.ended(task, self._parts.clock()))
        self._wind_up()

    def happened(self, event: SessionEvent) -> None:
        """Process an event: an answer of the program, or the end of an order."""
        match event:
            case events.GrowAccepted():
                self._accepted(event)
            case events.WorkersJoined():
                self._around.stage(self._job, "resize-join", event.order)
            case events.WorkersReleased():
                self._released(event)
            case events.JobResized():
                self._resized(event)
            case events.ResizeRefused():
                self._came_to_nothing("resize-refused", event.reason)
            case events.ResizeExpired():
                self._orders.expire(event.reason)
                self._end(event.workers)
                self._wind_up()
            case events.ProgressReported():
                self._parts.scheduler.progressed(self._job.id, event.share, self._parts.clock())
            case events.ProgramRegistered() | events.ProgramDeregistered():
                if self._orders.idle:
                    self._publish_acceptance()
        self._arm()

    def _publish_acceptance(self) -> None:
        accepts = self._orders.accepts_resize and self._job.state == JobState.RUN
        self._parts.scheduler.resizing.set_accepting(self._job.id, accepts)

    def _arm(self) -> None:
        """Set the timer for the order's time limit, or for the end of the program's rest."""
        due = self._orders.due
        if self._timer is not None and due != self._due:
            self._timer.cancel()
            self._timer = None
        if due is not None and self._timer is None and not self._closed:
            self._due = due
            self._timer = self._parts.call_at(due, self._tick)

    def _tick(self) -> None:
        self._timer, now = None, self._parts.clock()
        if self._orders.rested(now):
            self._publish_acceptance()
            self._around.commits.schedule()
        self._around.take(self.session.tick(now))
        self._arm()

    def _accepted(self, event: events.GrowAccepted) -> None:
        """Start the workers of a growth, each in the slot on its host."""
        job = self._job
        if job.state != JobState.RUN:
            self._around.take(self.session.failed("the job is ending", self._parts.clock()))
            return
        self._around.stage(self._job, "resize-accept", event.order)
        slots = self._orders.start(event.workers, self._around.allocations.host)
        self._orders.alive |= slots.keys()
        hosts = {slot.rank: event.workers[task] for task, slot in slots.items()}
        if not self._parts.executor.extend(job.id, event.order, slots, hosts):
            for task in slots:
                self._parts.loop.call_soon(self.task_ended, task)

    def _released(self, event: events.WorkersReleased) -> None:
        """Let released workers exit; those that stay too long are ended."""
        self._around.stage(self._job, "resize-release", event.order)
        slots = {task: self._orders.slots[task] for task in event.workers}
        self._parts.executor.dismiss(self._job.id, slots)
        self._parts.loop.call_later(self._around.leave, lambda: self._end(event.workers))

    def _end(self, tasks: Collection[int]) -> None:
        left = self._orders.living(tasks)
        if left and not self._closed:
            self._parts.executor.end_tasks(self._job.id, left)

    def _resized(self, event: events.JobResized) -> None:
        lost = self._orders.resized(event.lost, self._parts.clock())
        if event.gained:
            self._parts.executor.admit(self._job.id, event.gained)
        accepts = self._orders.accepts_resize and self._job.state == JobState.RUN
        request = self._around.request(self._job).with_workers(event.size)
        self._parts.scheduler.resized(self._job.id, event.size, lost, self._parts.clock(), heeds=accepts)
        self._around.allocations.resized(self._job, event.order, request)
        self._around.show(self._job, self.session.size, order=f"{event.order} done")
        self._orders.end()

    def _wind_up(self) -> None:
        """Free the resources that were reserved for a growth, once no worker lives that it started."""
        reason = self._orders.wound_up()
        if reason:
            self._came_to_nothing("resize-expired", reason)

    def _came_to_nothing(self, name: str, reason: str) -> None:
        """End an order at the old size, and free its resources."""
        now = self._parts.clock()
        unused = allocation_of(self._orders.drop(now))
        if not self._closed:
            self._parts.scheduler.resizing.refused(self._job.id, self.session.size, unused, now)
            context = {"order": self._orders.number, "reason": reason}
            self._around.log.append(self._job, name, context)
            what = f"{name.removeprefix('resize-')}: {reason}"
            self._around.show(self._job, self.session.size, order=f"{self._orders.number} {what}")
            self._orders.end(what)
            self._arm()
