"""Jobs that share cores in a simulation: guests, quotas, what is measured, and what is left when one ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies import degradation
from queue_policies.records import Change, Happened
from queue_policies.sharing import CoreSharing, JobEnd
from queue_policies.simulator.calendar import Calendar, Kind
from queue_policies.simulator.outcome import QuotaChange
from queue_policies.simulator.shared_cores import QuotaContention

if TYPE_CHECKING:
    from queue_policies.queue import IndexedQueue
    from queue_policies.sharing import Usage
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.job_run import JobRun
    from queue_policies.simulator.machine import Machine
    from queue_policies.simulator.workload import Workload


class CoreSets:
    """The jobs that share cores; without a model of that nobody does. A host has one guest at most.

    `ends` has how jobs ended since the last decision, `quotas` how the quotas of all that ended changed.
    """

    def __init__(
        self, workload: Workload, machine: Machine, queue: IndexedQueue, calendar: Calendar, seed: int
    ) -> None:
        self.model = workload.contention if isinstance(workload.contention, QuotaContention) else None
        self._kinds = {job.id: job.kind for job in workload.jobs} if self.model else {}
        self.sharing = None if self.model is None else CoreSharing()
        self.ends: list[JobEnd] = []
        self.quotas: dict[int, tuple[QuotaChange, ...]] = {}
        self._machine = machine
        self._queue = queue
        self._calendar = calendar
        self._seed = seed
        self._usage: dict[str, Usage] = {}  # by kind, from jobs that ran alone
        self._slowdowns: dict[str, float] = {}  # by kind, from jobs that had guests

    @property
    def busy(self) -> bool:
        """Whether any job is under a quota, so that a decision matters although none waits."""
        return self.model is not None and any(run.quota < 1 for run in self._machine.runs.values())

    def usage(self, job: WorkloadJob) -> Usage | None:
        """Return what earlier runs of a job's kind used; None: unknown."""
        return self._usage.get(job.kind)

    def begun(self, run: JobRun, now: float) -> None:
        """Note that a job began; it is measured after a while."""
        if self.model is not None:
            self._calendar.add(now + self.model.interval, Kind.MEASURES, run.job.id, run.version)

    def begin_guest(self, job: int, host: int, fraction: float, now: float) -> None:
        """Start a queued job on the cores of a running one."""
        machine, queued = self._machine, self._queue.remove(job)
        machine.begin(queued, queued.request.size, now, host, fraction)
        running = machine.running
        running[host] = running[host]._replace(guests=(*running[host].guests, job))
        run = machine.runs[job]
        run.quotas.append(QuotaChange(now, fraction, host))
        if self.model is not None and self.model.reports_degraded:
            self._calendar.add(now + self.model.interval, Kind.MEASURES, host, machine.runs[host].version)

    def limit(self, job: int, fraction: float, now: float) -> None:
        """Set a job's quota."""
        run = self._machine.runs[job]
        if run.quota == fraction:
            return
        self._machine.restart(run, now)
        run.quota = fraction
        run.quotas.append(QuotaChange(now, fraction, run.host))
        self._machine.running[job] = self._machine.running[job]._replace(quota=fraction)
        self._machine.again(run, now)

    def parted(self, run: JobRun, now: float) -> None:
        """Let those whose neighbour has returned its cores have their own again, without a quota."""
        if self.model is None:
            return
        job, machine = run.job.id, self._machine
        if run.host is not None and run.host in machine.runs:
            host = machine.running[run.host]
            guests = tuple(each for each in host.guests if each != job)
            machine.running[run.host] = host._replace(guests=guests)
            self.limit(run.host, 1.0, now)
        for other in [each for each in machine.runs.values() if each.host == job]:
            self._alone(other, now)

    def _alone(self, guest: JobRun, now: float) -> None:
        """Let a guest whose host has ended keep as many of its cores as it asked for."""
        job, machine = guest.job.id, self._machine
        machine.restart(guest, now)
        guest.host, guest.quota = None, 1.0
        guest.quotas.append(QuotaChange(now, 1.0, None))
        machine.hold(guest, guest.size, now)
        machine.running[job] = machine.running[job]._replace(host=None, quota=1.0)
        machine.again(guest, now)
        self.begun(guest, now)

    def measure(self, run: JobRun, now: float) -> Change | None:
        """Measure a job that is alone, and note it for those of its kind; or whether guests slow it down."""
        job, kind = run.job.id, run.job.kind
        record = self._machine.running[job]
        if self.model is None or record.guests or run.quota < 1:
            return self._beside_guests(run)
        usage = self.model.measured(run.job, run.size, now - self.model.interval, self._seed)
        usage = usage._replace(slowdown=self._slowdowns.get(kind, 0.0))
        self._machine.running[job] = record._replace(usage=usage)
        if kind not in self._usage:
            self._usage[kind] = usage
            self._note(kind)
        return Change(Happened.MEASURED, job)

    def _beside_guests(self, run: JobRun) -> Change | None:
        """Find out whether a host does less than its quota explains."""
        record = self._machine.running[run.job.id]
        if self.model is None or not (self.model.reports_degraded and record.guests and record.usage):
            return None
        speed = run.job.time.seconds(run.size) / run.per
        explained = degradation.slowed(record.usage.cpu, run.quota)
        found = degradation.while_running(1.0, explained, speed)
        if found < degradation.MUCH:
            return None
        self._machine.running[run.job.id] = record._replace(usage=record.usage._replace(slowdown=found))
        return Change(Happened.DEGRADED, run.job.id)

    def _note(self, kind: str) -> None:
        """Have the jobs of a kind show what is known of it, those that run its slowdown alone."""
        usage = self._usage[kind]
        for queued in [each for each in self._queue if self._kinds[each.id] == kind]:
            self._queue.add(self._queue.remove(queued.id)._replace(usage=usage))
        running = self._machine.running
        for job in [each for each, run in self._machine.runs.items() if run.job.kind == kind]:
            if (known := running[job].usage) is not None and known.slowdown != usage.slowdown:
                running[job] = running[job]._replace(usage=known._replace(slowdown=usage.slowdown))

    def _learn(self, run: JobRun, end: JobEnd) -> None:
        """Note what a job that was completed shows of its kind."""
        kind = run.job.kind
        if self.model is None or kind not in self._usage:
            return
        alone = run.job.time.seconds(run.job.min)
        found = degradation.of_run(end, alone, self._usage[kind].cpu)
        before = self._slowdowns.get(kind, 0.0)
        self._slowdowns[kind] = after = degradation.after_run(before, found)
        if after != before:
            self._usage[kind] = self._usage[kind]._replace(slowdown=after)
            self._note(kind)

    def report(self, now: float) -> None:
        """Have all running jobs report their progress."""
        machine = self._machine
        for job, run in machine.runs.items():
            if run.ended is None:
                record = machine.running[job]
                machine.running[job] = record._replace(remaining=run.left_at(now), measured=now)

    def ended(self, run: JobRun, now: float) -> None:
        """Note how a job ended, for policies, and what becomes of its neighbour."""
        self.parted(run, now)
        if self.model is not None:
            at = now if run.ended is None else run.ended
            done = 1.0 if run.end == "completed" else 1.0 - run.left_at(at)
            if run.quotas:
                self.quotas[run.job.id] = tuple(run.quotas)
            quotas = tuple((change.time, change.fraction) for change in run.quotas)
            end = JobEnd(run.job.id, run.started, at, run.job.limit, done, quotas, run.host)
            self.ends.append(end)
            if run.end == "completed":
                self._learn(run, end)
