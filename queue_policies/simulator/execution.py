"""Applies policies' actions in a simulation, and returns the changes that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.orders.records import record
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Elastic, Happened, QueuedJob
from queue_policies.simulator.calendar import Calendar, CalendarEvent, Kind
from queue_policies.simulator.core_sets import CoreSets
from queue_policies.simulator.failing_units import FailingUnits
from queue_policies.simulator.machine import Machine
from queue_policies.simulator.resize_orders import ResizeOrders
from queue_policies.simulator.run_times import RunTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.nodes.records import Allocation
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.job_run import JobRun
    from queue_policies.simulator.outcome import JobOutcome
    from queue_policies.simulator.simulation_options import SimulationOptions
    from queue_policies.simulator.workload import Workload


class SimulatedExecution:
    """Starts, resizes and preempts jobs, and applies events.

    `queue` has the jobs that wait, `machine` those that run, `orders` the orders under way, `core_sets` who
    shares cores, and `outcomes` the results of jobs that ended; `allocations` which cores they had, on nodes.
    """

    def __init__(self, workload: Workload, calendar: Calendar, options: SimulationOptions) -> None:
        self.queue = IndexedQueue()
        self.outcomes: dict[int, JobOutcome] = {}
        self.allocations: dict[int, tuple[tuple[float, Allocation], ...]] = {}
        self._times = RunTimes(options.estimates)
        self.machine = Machine(workload, calendar, self._times)
        self.orders = ResizeOrders(self.machine, self.queue, calendar, workload.cost, options)
        self._runs = self.machine.runs
        self._cluster = self.machine.cluster
        self._total = workload.total
        self._cost = workload.cost
        self._preemption = options.preemption
        failures, seed = options.failures, options.seed
        self.core_sets = CoreSets(workload, self.machine, self.queue, calendar, seed)
        self._failing = FailingUnits(failures, seed, self.machine, calendar) if failures else None
        self._handlers: dict[Kind, Callable[[JobRun, float], Change | None]] = {
            Kind.ENDS: self._end,
            Kind.REPORTS: self._times.observe,
            Kind.RESIZED: self.orders.over,
            Kind.REGISTERS: self._register,
            Kind.MEASURES: self.core_sets.measure,
        }

    @property
    def active(self) -> bool:
        """Whether a job runs, or will run once others have shrunk."""
        return bool(self._runs) or self.orders.waiting

    def arrive(self, job: WorkloadJob, limit: float | None = None) -> Change:
        """Queue a job that may start from now on; `limit` is its seconds (None: its own time limit)."""
        most = min(job.max, self._total)
        elastic = Elastic(job.min, most, job.malleable) if job.min < most else None
        self.queue.add(
            QueuedJob(
                job.id,
                job.priority,
                self._cluster.request(job.id, job.min),
                job.submitted,
                job.limit if limit is None else limit,
                job.user,
                elastic,
                self._times.estimate(job),
                self.core_sets.usage(job),
            )
        )
        return Change(Happened.ARRIVED, job.id)

    def start(self, job_id: int, size: int | None, after: tuple[int, ...], now: float) -> None:
        """Start a queued job, or note that it will start after others have shrunk."""
        queued = self.queue[job_id]
        wanted = queued.request.size if size is None else size
        if after and self.orders.wait_for(
            record(queued, self._cluster.request(job_id, wanted), now), sorted(set(after))
        ):
            return
        self.machine.begin(self.queue.remove(job_id), wanted, now)
        self.core_sets.begun(self._runs[job_id], now)

    def resize(self, job_id: int, size: int, now: float) -> None:
        """Order a running job to another size."""
        self.orders.give(job_id, size, now)

    def preempt(self, job_id: int, now: float) -> None:
        """Have a running job write its checkpoint."""
        self.machine.checkpoint(self._runs[job_id], self._preemption.checkpoint, now)

    def happen(self, event: CalendarEvent) -> Sequence[Change]:
        """Apply an event; return the changes for the policy."""
        if event.job < 0:
            return self._unit_event(event)
        run = self._runs.get(event.job)
        if run is None or run.version != event.version:
            return ()
        if event.kind is Kind.PREEMPTED:
            return self._preempted(run, event.time)
        change = self._happen(run, event)
        return () if change is None else (change,)

    def _happen(self, run: JobRun, event: CalendarEvent) -> Change | None:
        if event.kind is Kind.RETURNS:
            return self._return(run, event.time)
        if run.ended is not None:
            return None
        return self._handlers[event.kind](run, event.time)

    def _register(self, run: JobRun, now: float) -> Change:  # noqa: ARG002 - as the other handlers
        job, running = run.job.id, self.machine.running
        running[job] = running[job]._replace(heeds=run.order is None)
        return Change(Happened.REGISTERED, job)

    def _end(self, run: JobRun, now: float) -> Change | None:
        if now < run.due:
            return None
        return self._return(run, now) if self.machine.end(run, now) else None

    def _return(self, run: JobRun, now: float) -> Change:
        """Release the units of a job that ended."""
        self.orders.release(run, now)
        self.core_sets.ended(run, now)
        self.outcomes[run.job.id] = run.outcome(now if run.ended is None else run.ended)
        if run.allocations:
            self.allocations[run.job.id] = tuple(run.allocations)
        return Change(Happened.ENDED, run.job.id)

    def _preempted(self, run: JobRun, now: float) -> Sequence[Change]:
        """Queue a job again, for what is left, as its checkpoint is written."""
        run.preemptions += 1
        run.resume = self._preemption.restart
        start = self._cost.start(run.job, run.size, self._cluster.workers(run.job.id))
        limit = run.deadline - now + run.resume + start
        return self._queue_again(run, now, limit)

    def _queue_again(self, run: JobRun, now: float, limit: float | None = None) -> Sequence[Change]:
        """Stop a job, release its units, and queue it again."""
        self.orders.release(run, now)
        self.core_sets.parted(run, now)
        self.machine.keep(run)
        return Change(Happened.ENDED, run.job.id), self.arrive(run.job, limit)

    def _unit_event(self, event: CalendarEvent) -> Sequence[Change]:
        """Let a unit fail, and queue its job again; or bring a unit back."""
        failing = self._failing
        if failing is None:
            raise AssertionError("nothing fails here")
        if event.kind is Kind.REPAIRED:
            failing.repair()
            return (Change(Happened.CLUSTER),)
        failed, run = failing.fail(event.time)
        lost = (Change(Happened.CLUSTER),) if failed else ()
        return lost if run is None else (*lost, *self._queue_again(run, event.time))
