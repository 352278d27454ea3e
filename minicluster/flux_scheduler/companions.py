"""Malleable jobs of real Flux while they run: a base job, and a companion job for each further worker.

Flux cannot resize a job that runs. So a malleable job starts at its least size. When its program accepts an
order to grow, a job is submitted for each new worker: the same command, for which the scheduler reserved a
slot. `minicluster.malleable` has the messages to and from programs. Released companions end by themselves, or
are canceled; so are all when their base job ends. Nothing here waits: `Flux` calls back.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from broker_config.formats.jobid import f58
from minicluster.flux_scheduler.base_job import BaseJob, CompanionContext
from minicluster.malleable.credentials import Credentials, fresh_token
from minicluster.malleable.exchange import Exchange
from minicluster.malleable.session import Limits, Session
from minicluster.malleable.speaker import NOT_YET
from queue_policies.nodes.slots import allocation_of, slots_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from broker_config.formats.jobspec import Companion, RequestedResources
    from broker_config.formats.resource_set import Allocation
    from minicluster.flux_scheduler.flux_port import Flux
    from minicluster.flux_scheduler.scheduling import Scheduling
    from minicluster.malleable.events import ConnectionId, Step
    from queue_policies.nodes.records import Slot
    from queue_policies.orders.records import GrowOrder, ShrinkOrder

CANCEL_DELAY = 0.5
"""Seconds that workers have to end by themselves once their base job has ended."""


class Companions:
    """The malleable jobs and their companions. `hosts` returns a rank's host name.

    `limit` is the seconds that a program has to answer, and companions to join.
    """

    def __init__(self, flux: Flux, scheduling: Scheduling, hosts: Callable[[int], str], limit: float) -> None:
        self._flux = flux
        self._scheduling = scheduling
        self._limits = Limits(answer=limit, join=limit, work=10 * limit)
        self._exchange = Exchange()
        self._bases: dict[int, BaseJob] = {}
        self._names: dict[str, BaseJob] = {}
        self._of: dict[int, tuple[int, int]] = {}  # companions: base and task
        self._strays: dict[int, int] = {}  # from before this controller: companions, and their bases
        self._around = CompanionContext(
            flux, scheduling, lambda slot: hosts(slot.rank), self._take, self._cancel
        )

    def begin(self, job: int, allocation: Allocation, more: Sequence[Slot]) -> Credentials:
        """Add a malleable job that starts with these resources; return its tasks' credentials.

        When its program registers, it is ordered to grow into the slots of `more`. Raises OSError.
        """
        record = self._scheduling.running[job]
        request = cast("RequestedResources", record.request)
        slots = slots_of(allocation, request)
        workers = {task: self._around.host_of(slot) for task, slot in enumerate(slots)}
        size = len(workers)
        most = record.elastic.max // (request.size // request.workers) if record.elastic else size
        credentials = Credentials(self._flux.address(), f58(job), fresh_token())
        session = Session(credentials.job, credentials.token, size, most, workers, self._limits, firm=size)
        base = BaseJob(job, credentials, session, more, self._around)
        self._bases[job] = self._names[session.job] = base
        self._exchange.add(session)
        if more:
            self._flux.call_later(self._limits.join, partial(self._give_up_unordered, base))
        return credentials

    def _give_up_unordered(self, base: BaseJob) -> None:
        """Return the slots that were reserved for a program that has not registered."""
        if base.never_ordered:
            base.came_to_nothing(f"expired: the program did not register in {self._limits.join:g} s")

    def claim(self, job: int, whose: Companion) -> tuple[Allocation, Credentials] | str:
        """Return a companion's resources and its task's credentials, or why it has none."""
        base = self._names.get(whose.of)
        if base is None:
            return f"{whose.of} waits for no such companion"
        slot = base.claim(job, whose.task)
        if isinstance(slot, str):
            return slot
        self._of[job] = (base.job, whose.task)
        return allocation_of([slot]), replace(base.credentials, offset=whose.task)

    def ended(self, job: int) -> bool:
        """Note a job's end; return whether it was a companion, whose slot belongs to its base job."""
        if job in self._bases:
            self._end(self._bases.pop(job))
        self._strays.pop(job, None)
        for stray, of in tuple(self._strays.items()):
            if of == job:
                self._flux.cancel(stray, "its base job has ended")
        if job not in self._of:
            return False
        of, task = self._of.pop(job)
        base = self._bases.get(of)
        if base is None:  # it has a record of its own since its base ended
            return False
        base.companion_ended(task)
        return True

    def _end(self, base: BaseJob) -> None:
        """End a base job's session, and cancel its companions after CANCEL_DELAY."""
        base.closed = True
        base.orders.end("the job has ended")
        del self._names[base.session.job]
        self._take(self._exchange.remove(base.session.job))
        living = base.living()
        for job, slot in living.items():
            self._scheduling.allocations.part(base.job, job, allocation_of([slot]))
        if living:
            self._flux.call_later(CANCEL_DELAY, partial(self._cancel, living, "its base job has ended"))

    def adopt(self, companions: dict[int, str], running: Collection[int]) -> None:
        """Take over companions that ran before this module was loaded, with the F58 ids of their base jobs.

        Their programs have lost their connection, and keep their size.
        """
        bases = {f58(job): job for job in running}
        for job, of in companions.items():
            if of in bases:
                self._strays[job] = bases[of]
            else:
                self._flux.cancel(job, "its base job has ended")

    def _cancel(self, jobs: Iterable[int], reason: str) -> None:
        for job in jobs:
            if job in self._of:
                self._flux.cancel(job, reason)

    def order(self, order: GrowOrder | ShrinkOrder, on_end: Callable[[str], None] | None = None) -> None:
        """Pass on an order to grow into resources that are reserved for the job, or to shrink.

        `on_end` is called with why the order failed; with an empty text when it is done.
        """
        self._bases[order.job].order(order, on_end)

    def obstacle(self, job: int) -> str:
        """Return why the job's program takes no orders; empty where it does."""
        return self._bases[job].session.speaker.obstacle if job in self._bases else NOT_YET

    def opened(self, connection: ConnectionId) -> None:
        """Handle a new connection."""
        self._take(self._exchange.opened(connection))

    def received(self, connection: ConnectionId, data: bytes) -> None:
        """Handle received data."""
        self._take(self._exchange.received(connection, data, self._flux.clock()))

    def closed(self, connection: ConnectionId) -> None:
        """Handle the end of a connection."""
        self._take(self._exchange.closed(connection, self._flux.clock()))

    def _take(self, step: Step) -> None:
        for connection, data in step.sends:
            self._flux.send(connection, data)
        for connection in step.closes:
            self._flux.hang_up(connection)
        for event in step.events:
            base = self._names.get(event.job)
            if base is not None:
                base.happened(event)
                self._flux.schedule_decision()
