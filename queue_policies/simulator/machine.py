"""The units of a simulated cluster, and the progress and ends of the jobs that compute on them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from queue_policies.orders.records import record
from queue_policies.running import RunningJobs
from queue_policies.simulator.calendar import Calendar, Kind
from queue_policies.simulator.contention import ComputingRates, Occupant
from queue_policies.simulator.job_run import JobRun
from queue_policies.simulator.node_cluster import NodeCluster, core_requests
from queue_policies.simulator.unit_cluster import UnitCluster

if TYPE_CHECKING:
    from queue_policies.records import QueuedJob
    from queue_policies.simulator.run_times import RunTimes
    from queue_policies.simulator.workload import Workload


class Machine:
    """Starts jobs, changes their sizes and stops them. The events that follow go into the calendar."""

    def __init__(self, workload: Workload, calendar: Calendar, times: RunTimes) -> None:
        self.running = RunningJobs()
        """The running jobs, as policies see them."""
        self.cluster = _cluster(workload)
        self._on_nodes = bool(workload.nodes)
        self.runs: dict[int, JobRun] = {}
        """The running jobs, by id."""
        self.malleable = 0
        """How many of them are malleable."""
        self._jobs = {job.id: job for job in workload.jobs}
        self._cost = workload.cost
        self._calendar = calendar
        self._times = times
        self._stopped: dict[int, JobRun] = {}  # to be begun again, after a failure or preempted
        self._soft_limits = workload.soft_limits
        self._rates = (
            None if workload.contention is None else ComputingRates(workload.contention, self._repace)
        )

    def begin(
        self, queued: QueuedJob, size: int, now: float, host: int | None = None, quota: float = 1.0
    ) -> None:
        """Start a job, or start it again: on its own units, or on those of a host, as its guest."""
        job = self._jobs[queued.id]
        run = self._stopped.pop(job.id) if job.id in self._stopped else JobRun(job, now)
        self.runs[job.id] = run
        run.deadline = math.inf if self._soft_limits else now + queued.limit
        run.host, run.quota = host, quota
        self.malleable += job.malleable
        self.hold(run, size if host is None else 0, now)
        pause = self._cost.start(job, size, self.cluster.workers(job.id)) + run.resume
        heeds = job.malleable and not self._cost.registration
        seen = record(queued, self.cluster.request(job.id, size), now, pause, run.left, heeds=heeds)
        self.running[job.id] = seen if host is None else seen._replace(host=host, quota=quota)
        self._pace(run, size, pause, now)
        if job.malleable and not heeds:
            self._calendar.add(now + self._cost.registration, Kind.REGISTERS, job.id, run.version)

    def _pace(self, run: JobRun, size: int, pause: float, now: float) -> None:
        """Compute at this size after the pause; find the end anew."""
        job = run.job
        if run.size:
            self._times.observe(run, now)
            run.left = run.left_at(now)
            run.idle -= run.ahead(now)
        run.size = size
        rates = self._rates
        run.per = job.time.seconds(size) if rates is None else rates.enter(self._occupant(run), now)
        run.since = now + pause
        run.idle += pause
        run.version += 1
        self._find_end(run)
        if self._times.learned:
            self._calendar.add(run.since + self._times.report, Kind.REPORTS, job.id, run.version)

    def _find_end(self, run: JobRun) -> None:
        end = run.since + run.left * run.per
        run.end = "completed" if end <= run.deadline else "timeout"
        run.due = min(end, run.deadline)
        self._calendar.add(run.due, Kind.ENDS, run.job.id, run.version)

    def _occupant(self, run: JobRun) -> Occupant:
        cluster, job = self.cluster, run.job.id
        where, workers = cluster.allocation(job), cluster.workers(job)
        return Occupant(run.job, run.size, where, run.host, run.quota, workers)

    def restart(self, run: JobRun, now: float) -> None:
        """Begin to count a job's progress anew, before it gets another quota or other neighbours."""
        self._times.observe(run, now)
        run.left = run.left_at(now)
        run.since = max(run.since, now)

    def again(self, run: JobRun, now: float) -> None:
        """Find a job's rate anew, as its quota or its host changed."""
        if self._rates is not None:
            self._repace(run.job.id, self._rates.enter(self._occupant(run), now), now)

    def _repace(self, job: int, seconds: float, now: float) -> None:
        """Have a job take so many seconds for the whole of its work, as others come or go beside it."""
        run = self.runs[job]
        if seconds == run.per:
            return
        self._times.observe(run, now)
        run.left = run.left_at(now)
        run.since = max(run.since, now)
        run.per = seconds
        self._find_end(run)
        seen = self.running[job]
        if seen.estimate is not None:
            self.running[job] = seen._replace(remaining=run.left, measured=run.since)

    def hold(self, run: JobRun, size: int, now: float) -> None:
        """Set the units that a job holds, which may differ from the size at which it computes."""
        self.cluster.hold(run.job.id, size)
        run.sizes.append((now, size))
        if self._on_nodes:
            run.allocations.append((now, self.cluster.allocation(run.job.id)))

    def resize(self, run: JobRun, size: int, pause: float, now: float) -> None:
        """Have a job compute at another size after the pause; one that grows holds that size already."""
        if size < run.size:
            run.shrinks += 1
            self.hold(run, size, now)
        else:
            run.grows += 1
        self._pace(run, size, pause, now)
        seen = self.running[run.job.id]
        self.running[run.job.id] = seen._replace(
            request=self.cluster.request(run.job.id, size),
            acted=now + pause,
            heeds=True,
            remaining=None if seen.estimate is None else run.left,
            measured=now + pause,
        )

    def checkpoint(self, run: JobRun, seconds: float, now: float) -> None:
        """Have a job write its checkpoint, for so many seconds; then it is preempted."""
        job = run.job.id
        self._times.observe(run, now)
        run.left = run.left_at(now)
        run.idle += seconds - run.ahead(now)
        run.since = now + seconds  # when it is stopped
        run.version += 1
        seen = self.running[job]
        left = None if seen.estimate is None else run.left
        self.running[job] = seen._replace(
            heeds=False, stopping=True, acted=now + seconds, remaining=left, measured=now + seconds
        )
        run.deadline += seconds  # the limit is for its work
        self._calendar.add(now + seconds, Kind.PREEMPTED, job, run.version)

    def end(self, run: JobRun, now: float) -> bool:
        """End a job's computation; return whether its units are free at once."""
        run.ended = now
        self._times.observe(run, now)
        if self._rates is not None:
            self._rates.leave(run.job.id, now)
        if not self._cost.release:
            return True
        self.running[run.job.id] = self.running[run.job.id]._replace(heeds=False, stopping=True)
        self._calendar.add(now + self._cost.release, Kind.RETURNS, run.job.id, run.version)
        return False

    def release(self, run: JobRun, now: float) -> None:
        """Take back all that a job holds: it runs no more."""
        job = run.job.id
        del self.runs[job]
        if self._rates is not None:
            self._rates.leave(job, now)
        self.malleable -= run.job.malleable
        self.running.pop(job)
        self.cluster.release(job)
        run.sizes.append((now, 0))
        if self._on_nodes:
            run.allocations.append((now, {}))

    def keep(self, run: JobRun) -> None:
        """Keep what a job that was stopped has done, for when it begins again."""
        run.version += 1
        run.size = 0
        self._stopped[run.job.id] = run


def _cluster(workload: Workload) -> UnitCluster | NodeCluster:
    if not workload.nodes:
        return UnitCluster(workload.total)
    return NodeCluster(workload.nodes, core_requests(workload.jobs), workload.placement)
