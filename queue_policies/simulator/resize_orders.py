"""The orders under way in a simulation, and the jobs that start once others have shrunk."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from queue_policies.orders.book import OrderBook
from queue_policies.records import Change, Happened
from queue_policies.simulator.calendar import Calendar, Kind
from queue_policies.simulator.job_run import JobRun, PendingResize
from queue_policies.simulator.unit_room import UnitRoom

if TYPE_CHECKING:
    from collections.abc import Iterable

    from queue_policies.queue import IndexedQueue
    from queue_policies.records import RunningJob
    from queue_policies.simulator.cost import Cost
    from queue_policies.simulator.machine import Machine
    from queue_policies.simulator.simulation_options import SimulationOptions


class ResizeOrders:
    """The orders under way; `shrinking` counts those to shrink."""

    def __init__(
        self,
        machine: Machine,
        queue: IndexedQueue,
        calendar: Calendar,
        cost: Cost,
        options: SimulationOptions,
    ) -> None:
        self.shrinking = 0
        self._machine = machine
        self._calendar = calendar
        self._cost = cost
        self._refusals = options.refusals
        self._random = random.Random(options.seed)  # noqa: S311 - a simulation's
        self._book: OrderBook[int, int] = OrderBook(queue, machine.running, UnitRoom(machine.cluster))

    @property
    def waiting(self) -> bool:
        """Whether a job waits for others to shrink."""
        return self._book.waiting

    def wait_for(self, starter: RunningJob, after: Iterable[int]) -> bool:
        """Have a queued job start when these have shrunk; return whether any has an order under way."""
        return self._book.wait_for(starter, after)

    def give(self, job_id: int, size: int, now: float) -> None:
        """Order a running job to another size."""
        run = self._machine.runs[job_id]
        took = self._cost.resize(run.job, run.size, size)
        refused = self._refusals > 0 and self._random.random() < self._refusals
        shrinks = size < run.size
        delay = took.delay + (self._cost.release if shrinks and took.delay else 0.0)
        if not shrinks:
            self._machine.hold(run, size, now)
        if not delay and not refused:
            self._machine.resize(run, size, took.pause, now)
            return
        run.order = PendingResize(size, took.pause, refused)
        self._book.open(job_id, run.size - size if shrinks else 0)
        self.shrinking += shrinks
        self._calendar.add(now + delay, Kind.RESIZED, job_id, run.version)

    def over(self, run: JobRun, now: float) -> Change:
        """End an order that is done or refused; return the change."""
        machine, job, order = self._machine, run.job.id, run.order
        if order is None:
            raise AssertionError(f"job {job} is amid no order")
        run.order = None
        self.shrinking -= order.size < run.size
        if not order.refused:
            machine.resize(run, order.size, order.pause, now)
            self._begin_those_after(job, now)
            return Change(Happened.RESIZED, job)
        run.refusals += 1
        if order.size > run.size:
            machine.hold(run, run.size, now)
        self._book.refused(job)
        machine.running[job] = machine.running[job]._replace(acted=now, heeds=True)
        return Change(Happened.REFUSED, job)

    def release(self, run: JobRun, now: float) -> None:
        """Release all that a job holds, and drop its order."""
        self._machine.release(run, now)
        order, run.order = run.order, None
        if order is not None:
            self.shrinking -= order.size < run.size
            self._begin_those_after(run.job.id, now)

    def _begin_those_after(self, donor: int, now: float) -> None:
        """Start the jobs that waited for this one's units and now have all."""
        for queued, size in self._book.done(donor, 0):
            if size is not None:
                self._machine.begin(queued, size, now)
