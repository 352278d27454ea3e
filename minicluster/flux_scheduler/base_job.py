"""A running malleable job of real Flux: handles its program's answers, and starts and ends companions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import Companion
from minicluster.flux_scheduler.alarm import Alarm
from minicluster.flux_scheduler.companion_jobspec import companion
from minicluster.flux_scheduler.job_notes import JobNotes
from minicluster.malleable import events
from minicluster.malleable.errors import NotAccepting
from minicluster.malleable.session import count_out
from queue_policies.nodes.slots import allocation_of, slots_of
from queue_policies.orders.program import LEAVE, ProgramOrders
from queue_policies.orders.records import GrowOrder, ShrinkOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.flux_scheduler.flux_port import Flux
    from minicluster.flux_scheduler.scheduling import Scheduling
    from minicluster.malleable.credentials import Credentials
    from minicluster.malleable.events import SessionEvent, Step
    from minicluster.malleable.session import Session
    from queue_policies.nodes.records import Slot


@dataclass(frozen=True, slots=True)
class CompanionContext:
    """What all malleable jobs share."""

    flux: Flux
    scheduling: Scheduling
    host_of: Callable[[Slot], str]
    take: Callable[[Step], None]
    """Sends a session's messages and handles its events."""
    cancel: Callable[[Iterable[int], str], None]
    """Cancels those of these jobs that are still companions, with a reason."""


class BaseJob:
    """Runs the orders to one program, and handles its session's events. Further workers are companions."""

    def __init__(
        self,
        job: int,
        credentials: Credentials,
        session: Session,
        reserved: Sequence[Slot],
        around: CompanionContext,
    ) -> None:
        self.job = job
        self.credentials = credentials
        self.session = session
        self.closed = False
        """Whether the job has ended."""
        self.orders = ProgramOrders(session, reserved=reserved)
        """Those to its program."""
        self._companions: dict[int, int] = {}  # jobs by task, as soon as they are known
        self._around = around
        self._flux = around.flux
        self._notes = JobNotes(around.flux, job, session, self.orders, self._companions)
        self._resizing = around.scheduling.resizing
        self._alarm = Alarm(around.flux, self._tick)

    @property
    def never_ordered(self) -> bool:
        """Whether no order was sent to the program."""
        return not self.orders.number and self.session.order is None

    def order(self, order: GrowOrder | ShrinkOrder, on_end: Callable[[str], None] | None = None) -> None:
        """Order the job to grow into resources that are reserved for it, or to give up some workers.

        `on_end` is called with why the order failed; with an empty text when it is done.
        """
        self.orders.on_end = on_end
        if isinstance(order, ShrinkOrder):
            self._send(lambda now: self.session.shrink(order.workers, now))
        else:
            request = cast("RequestedResources", self._around.scheduling.running[self.job].request)
            self.orders.reserved = slots_of(order.more, request)
            self._grow()

    def _grow(self) -> None:
        hosts = [self._around.host_of(slot) for slot in self.orders.reserved]
        self._send(lambda now: self.session.grow(hosts, now))

    def _send(self, send: Callable[[float], Step]) -> None:
        try:
            step = send(self._flux.clock())
        except (NotAccepting, ValueError) as error:
            self._flux.call_later(0.0, partial(self.came_to_nothing, f"refused: {error}"))
            return
        self.orders.sent()
        self._notes.ordered()
        self._around.take(step)
        self._alarm.set(self.orders.due)

    def claim(self, job: int, task: int) -> Slot | str:
        """Return the slot of a companion that requests resources, or why it has none."""
        orders, of = self.orders, f58(self.job)
        if task not in orders.slots or task in orders.alive:
            return f"{of} waits for no such companion"
        if self._companions.get(task, job) != job or task not in orders.starting or orders.over:
            return f"{of} waits for no such companion any more"
        self._companions[task] = job
        orders.alive.add(task)
        return orders.slots[task]

    def living(self) -> dict[int, Slot]:
        """Return the companions that have not ended, with their slots."""
        return {self._companions[task]: self.orders.slots[task] for task in sorted(self.orders.alive)}

    def companion_ended(self, task: int) -> None:
        """Note the end of a companion that had a slot."""
        self.orders.alive.discard(task)
        self._around.take(self.session.ended(task, self._flux.clock()))
        self._wind_up()
        self._flux.call_later(LEAVE, self._count_out)  # when the program ends, companions end first

    def _count_out(self) -> None:
        """Free what lost companions held: those that ended before their job, though no order was for it."""
        if self.closed or self.job in self._resizing.book:
            return
        lost = sorted(self.session.workers.keys() & self.orders.slots.keys() - self.orders.alive)
        if not lost:
            return
        now = self._flux.clock()
        freed = [self.orders.slots.pop(task) for task in lost]
        self._around.take(count_out(self.session, lost))
        accepts = self.orders.accepts_resize
        self._resizing.resized(self.job, self.session.size, freed, now, heeds=accepts)
        names = ", ".join(f58(self._companions[task]) for task in lost)
        self._notes.ended(f"done, then lost {names}")
        self._flux.schedule_decision()

    def happened(self, event: SessionEvent) -> None:
        """Handle an event: an answer of the program, or the end of an order."""
        if isinstance(event, events.GrowAccepted):
            self.orders.start(event.workers, self._around.host_of)
            self._flux.fetch_jobspec(self.job, partial(self._submit, event.order))
        elif isinstance(event, events.WorkersReleased):
            jobs = [self._companions[task] for task in event.workers if task in self._companions]
            self._flux.call_later(LEAVE, partial(self._around.cancel, jobs, "its job has shrunk"))
        elif isinstance(event, events.JobResized):
            now = self._flux.clock()
            lost, accepts = self.orders.resized(event.lost, now), self.orders.accepts_resize
            self._resizing.resized(self.job, event.size, lost, now, heeds=accepts)
            self._notes.ended("done")
            self.orders.end()
            self._count_out()
        elif isinstance(event, events.ResizeRefused):
            self.came_to_nothing(f"refused: {event.reason}")
        elif isinstance(event, events.ResizeExpired):
            self.orders.expire(event.reason)
            for task in sorted(self._companions.keys() & event.workers):
                self._flux.cancel(self._companions[task], f"order {event.order} is over: {event.reason}")
            self._wind_up()
        elif isinstance(event, events.ProgressReported):
            self._resizing.progressed(self.job, event.share, self._flux.clock())
        elif isinstance(event, events.ProgramRegistered) and self.orders.reserved and not self.orders.number:
            self._grow()
        elif self.orders.idle:  # ProgramRegistered, ProgramDeregistered
            self._resizing.set_accepting(self.job, self.orders.accepts_resize)
        self._alarm.set(self.orders.due)

    def _tick(self) -> None:
        if self.closed:
            return
        now = self._flux.clock()
        if self.orders.rested(now):
            self._resizing.set_accepting(self.job, self.orders.accepts_resize)
            self._flux.schedule_decision()
        self._around.take(self.session.tick(now))
        self._alarm.set(self.orders.due)

    def _submit(self, order: int, spec: dict[str, Any] | None) -> None:
        """Submit the companions of an order to grow, one for each slot."""
        under_way = self.session.order
        if under_way is None or under_way.id != order or self.closed:
            return
        if spec is None:
            self._around.take(self.session.failed("the job's own jobspec cannot be read", self._flux.clock()))
            return
        for task in sorted(self.orders.starting):
            made = companion(spec, Companion(f58(self.job), task), order)
            self._flux.submit(made, partial(self._submitted, task))

    def _submitted(self, task: int, answer: int | str) -> None:
        """Note the id of a companion, or why there is none. It may have claimed its slot before."""
        waited_for = task in self.orders.slots and not self.closed and not self.orders.over
        if isinstance(answer, int) and waited_for:
            self._companions[task] = answer
        elif isinstance(answer, int):
            self._flux.cancel(answer, "nobody waits for it any more")
        elif waited_for:
            reason = f"a companion cannot be submitted: {answer}"
            self._around.take(self.session.failed(reason, self._flux.clock()))

    def _wind_up(self) -> None:
        """Return the slots of an order to grow that came to nothing, once its companions have ended."""
        reason = self.orders.wound_up()
        if reason:
            self.came_to_nothing(f"expired: {reason}")

    def came_to_nothing(self, what: str) -> None:
        """End an order at the old size."""
        if self.closed:
            return
        now = self._flux.clock()
        unused = allocation_of(self.orders.drop(now))
        self._resizing.refused(self.job, self.session.size, unused, now)
        self._notes.ended(what)
        self.orders.end(what)
        self._alarm.set(self.orders.due)
        self._count_out()
        self._flux.schedule_decision()
