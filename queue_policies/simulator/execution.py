"""What runs: the simulated jobs that hold units, how far they are, and the orders that they are amid."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from queue_policies.counting import CountingCluster, Units
from queue_policies.learning import Learner
from queue_policies.orders.book import OrderBook
from queue_policies.orders.records import record
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Elastic, Happened, QueuedJob
from queue_policies.running import RunningJobs
from queue_policies.simulator.calendar import Calendar, Event, Kind
from queue_policies.simulator.errors import SimulationError
from queue_policies.simulator.failure import Fate
from queue_policies.simulator.job_run import JobRun, Order
from queue_policies.simulator.unit_room import UnitRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from queue_policies.records import RunTime
    from queue_policies.simulator.circumstances import Circumstances
    from queue_policies.simulator.job import Job
    from queue_policies.simulator.outcome import JobOutcome
    from queue_policies.simulator.workload import Workload

MOST_RESTARTS = 1000
"""A job that failed so often will never end."""


class Execution:
    """Carries out what policies answer, and what follows from it in time."""

    def __init__(self, workload: Workload, calendar: Calendar, circumstances: Circumstances) -> None:
        self.queue = IndexedQueue()
        self.running = RunningJobs()
        self.cluster = CountingCluster(workload.total)
        self.shrinking = 0  # orders to shrink that are under way
        self.malleable = 0  # malleable jobs that run
        self.outcomes: dict[int, JobOutcome] = {}
        self._cost = workload.cost
        self._calendar = calendar
        self._estimates = circumstances.estimates
        self._learner = Learner() if circumstances.estimates.learned else None
        self._refusals = circumstances.refusals
        self._random = random.Random(circumstances.seed)  # noqa: S311 - a simulation's
        self._failures = circumstances.failures
        self._preemption = circumstances.preemption
        self._fate = Fate(circumstances.failures, circumstances.seed) if circumstances.failures else None
        if self._fate is not None:
            calendar.add(self._fate.next_after(0.0, workload.total), Kind.FAILS)
        self._jobs = {job.id: job for job in workload.jobs}
        self._runs: dict[int, JobRun] = {}
        self._again: dict[int, JobRun] = {}  # queued again, after a failure or preempted
        self._handlers: dict[Kind, Callable[[JobRun, float], Change | None]] = {
            Kind.ENDS: self._end,
            Kind.REPORTS: self._observe,
            Kind.RESIZED: self._ordered,
            Kind.REGISTERS: self._register,
        }
        self._book: OrderBook[int, int] = OrderBook(self.queue, self.running, UnitRoom(self.cluster))
        self._units = [Units(size) for size in range(workload.total + 1)]

    @property
    def active(self) -> bool:
        """Whether any job runs, or will run once others have shrunk."""
        return bool(self._runs) or self._book.waiting

    def arrive(self, job: Job, limit: float | None = None) -> Change:
        """The job may start from now on, for so long (None: its time limit)."""
        most = min(job.max, len(self._units) - 1)
        elastic = Elastic(job.min, most, job.malleable) if job.min < most else None
        self.queue.add(
            QueuedJob(
                job.id,
                job.priority,
                self._units[job.min],
                job.submitted,
                job.limit if limit is None else limit,
                job.user,
                elastic,
                self._estimate(job),
            )
        )
        return Change(Happened.ARRIVED, job.id)

    def _estimate(self, job: Job) -> RunTime | None:
        if self._learner is None:
            return self._estimates.of(job)
        return self._learner.estimate(job.kind or job.id, job.min, job.limit)

    def start(self, job_id: int, size: int | None, after: tuple[int, ...], now: float) -> None:
        """Start a queued job, or note that it will start after others have shrunk."""
        queued = self.queue[job_id]
        wanted = queued.request.size if size is None else size
        if not self._book.wait_for(record(queued, self._units[wanted], now), sorted(set(after))):
            self._begin(self.queue.remove(job_id), wanted, now)

    def resize(self, job_id: int, size: int, now: float) -> None:
        """Order a running job to another size."""
        run = self._runs[job_id]
        took = self._cost.resize(run.job, run.size, size)
        refused = self._refusals > 0 and self._random.random() < self._refusals
        shrinks = size < run.size
        delay = took.delay + (self._cost.release if shrinks and took.delay else 0.0)
        if not shrinks:
            self._hold(run, size, now)
        if not delay and not refused:
            self._resized(run, size, took.pause, now)
            return
        run.order = Order(size, took.pause, refused)
        self._book.open(job_id, run.size - size if shrinks else 0)
        self.shrinking += shrinks
        self._calendar.add(now + delay, Kind.RESIZED, job_id, run.version)

    def preempt(self, job_id: int, now: float) -> None:
        """Have a running job write its checkpoint."""
        run = self._runs[job_id]
        seconds = self._preemption.checkpoint
        self._observe(run, now)
        run.left = run.left_at(now)
        run.idle += seconds - run.ahead(now)
        run.since = now + seconds  # when it is stopped
        run.version += 1
        seen = self.running[job_id]
        left = None if seen.estimate is None else run.left
        self.running[job_id] = seen._replace(
            heeds=False, stopping=True, acted=now + seconds, remaining=left, measured=now + seconds
        )
        run.deadline += seconds  # the limit is for its work
        self._calendar.add(now + seconds, Kind.PREEMPTED, job_id, run.version)

    def happen(self, event: Event) -> Sequence[Change]:
        """Let an event happen; return what a policy is to know of it."""
        if event.job < 0:
            return self._fail(event.time) if event.kind is Kind.FAILS else self._repaired()
        run = self._runs.get(event.job)
        if run is None or run.version != event.version:
            return ()
        if event.kind is Kind.PREEMPTED:
            return self._preempted(run, event.time)
        change = self._happen(run, event)
        return () if change is None else (change,)

    def _happen(self, run: JobRun, event: Event) -> Change | None:
        if event.kind is Kind.RETURNS:
            return self._return(run, event.time)
        if run.ended is not None:
            return None
        return self._handlers[event.kind](run, event.time)

    def _begin(self, queued: QueuedJob, size: int, now: float) -> None:
        job = self._jobs[queued.id]
        run = self._again.pop(job.id) if job.id in self._again else JobRun(job, now)
        self._runs[job.id] = run
        run.deadline = now + queued.limit
        self.malleable += job.malleable
        pause = self._cost.start(job, size) + run.resume
        self._hold(run, size, now)
        heeds = job.malleable and not self._cost.registration
        self.running[job.id] = record(queued, self._units[size], now, pause, run.left, heeds=heeds)
        self._pace(run, size, pause, now)
        if job.malleable and not heeds:
            self._calendar.add(now + self._cost.registration, Kind.REGISTERS, job.id, run.version)

    def _pace(self, run: JobRun, size: int, pause: float, now: float) -> None:
        """Compute at this size after the pause; find the end anew."""
        job = run.job
        if run.size:
            self._observe(run, now)
            run.left = run.left_at(now)
            run.idle -= run.ahead(now)
        run.size = size
        run.per = job.time.seconds(size)
        run.since = now + pause
        run.idle += pause
        run.version += 1
        end = run.since + run.left * run.per
        run.end = "completed" if end <= run.deadline else "timeout"
        self._calendar.add(min(end, run.deadline), Kind.ENDS, job.id, run.version)
        if self._learner is not None:
            self._calendar.add(run.since + self._estimates.report, Kind.REPORTS, job.id, run.version)

    def _register(self, run: JobRun, now: float) -> Change:  # noqa: ARG002 - as the other handlers
        job = run.job.id
        self.running[job] = self.running[job]._replace(heeds=run.order is None)
        return Change(Happened.REGISTERED, job)

    def _observe(self, run: JobRun, now: float) -> None:
        """Learn from what the job did at its present size."""
        if self._learner is not None and now > run.since and run.per:
            seconds = now - run.since
            self._learner.observe(run.job.kind or run.job.id, run.size, seconds / run.per, seconds)

    def _hold(self, run: JobRun, size: int, now: float) -> None:
        self.cluster.hold(run.job.id, size)
        run.sizes.append((now, size))

    def _resized(self, run: JobRun, size: int, pause: float, now: float) -> None:
        if size < run.size:
            run.shrinks += 1
            self._hold(run, size, now)
        else:
            run.grows += 1
        self._pace(run, size, pause, now)
        seen = self.running[run.job.id]
        self.running[run.job.id] = seen._replace(
            request=Units(size),
            acted=now + pause,
            heeds=True,
            remaining=None if seen.estimate is None else run.left,
            measured=now + pause,
        )

    def _ordered(self, run: JobRun, now: float) -> Change:
        """An order is done, or refused."""
        job, order = run.job.id, run.order
        if order is None:
            raise AssertionError(f"job {job} is amid no order")
        run.order = None
        self.shrinking -= order.size < run.size
        if not order.refused:
            self._resized(run, order.size, order.pause, now)
            self._begin_those_after(job, now)
            return Change(Happened.RESIZED, job)
        run.refusals += 1
        if order.size > run.size:
            self._hold(run, run.size, now)
        self._book.refused(job)
        self.running[job] = self.running[job]._replace(acted=now, heeds=True)
        return Change(Happened.REFUSED, job)

    def _begin_those_after(self, donor: int, now: float) -> None:
        """Start whoever waited for this job's units and now has all."""
        for queued, size in self._book.done(donor, 0):
            if size is not None:
                self._begin(queued, size, now)

    def _end(self, run: JobRun, now: float) -> Change | None:
        run.ended = now
        self._observe(run, now)
        if not self._cost.release:
            return self._return(run, now)
        self.running[run.job.id] = self.running[run.job.id]._replace(heeds=False, stopping=True)
        self._calendar.add(now + self._cost.release, Kind.RETURNS, run.job.id, run.version)
        return None

    def _return(self, run: JobRun, now: float) -> Change:
        """The job's units are free."""
        self._leave(run, now)
        self.outcomes[run.job.id] = run.outcome(now if run.ended is None else run.ended)
        return Change(Happened.ENDED, run.job.id)

    def _leave(self, run: JobRun, now: float) -> None:
        job = run.job.id
        del self._runs[job]
        self.malleable -= run.job.malleable
        self.running.pop(job)
        self.cluster.release(job)
        run.sizes.append((now, 0))
        order, run.order = run.order, None
        if order is not None:
            self.shrinking -= order.size < run.size
            self._begin_those_after(job, now)

    def _fail(self, now: float) -> Sequence[Change]:
        """A unit fails; its job is queued again."""
        fate, failures = self._fate, self._failures
        if fate is None or failures is None:
            raise AssertionError("nothing fails here")
        cluster = self.cluster
        self._calendar.add(fate.next_after(now, cluster.total), Kind.FAILS)
        alive = [(job, cluster.held[job]) for job, run in self._runs.items() if run.ended is None]
        if cluster.free + len(alive) < 1:
            return ()
        job = fate.hit(cluster.free, alive)
        cluster.resize(cluster.total - 1)
        self._calendar.add(now + failures.repair, Kind.REPAIRED)
        changes = [Change(Happened.CLUSTER)]
        if job is None:
            return changes
        run = self._runs[job]
        computed = max(0.0, now - run.since)
        lost = computed % failures.checkpoint if failures.checkpoint else computed
        run.left = min(1.0, run.left_at(now) + lost / run.per) if failures.checkpoint and run.per else 1.0
        run.idle += lost - run.ahead(now)
        run.restarts += 1
        if run.restarts > MOST_RESTARTS:
            raise SimulationError(
                f"job {job} was started again {MOST_RESTARTS} times after failures and does not end: it needs"
                f" {run.per:g} s on {run.size} units, of which each fails every {failures.mtbf:g} s; save its"
                " work more often (checkpoint), or let units fail less often"
            )
        run.resume = failures.restart
        self._stop(run, now)
        return [*changes, Change(Happened.ENDED, job), self.arrive(run.job)]

    def _preempted(self, run: JobRun, now: float) -> Sequence[Change]:
        """Its checkpoint is written: it is queued again for what is left."""
        run.preemptions += 1
        run.resume = self._preemption.restart
        limit = run.deadline - now + run.resume + self._cost.start(run.job, run.size)
        self._stop(run, now)
        return [Change(Happened.ENDED, run.job.id), self.arrive(run.job, limit)]

    def _stop(self, run: JobRun, now: float) -> None:
        """It holds nothing any more, and will begin again."""
        run.version += 1
        self._leave(run, now)
        run.size = 0
        self._again[run.job.id] = run

    def _repaired(self) -> Sequence[Change]:
        self.cluster.resize(self.cluster.total + 1)
        return (Change(Happened.CLUSTER),)
