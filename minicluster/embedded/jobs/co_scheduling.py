"""Co-scheduling in the scheduler: what the policy reads of jobs that share cores, and what it remembers.

Where the policy does not need it, `sharing` is None, and nothing of it happens.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from minicluster.embedded.jobs.usage_meter import EarlierRuns, JobMeter, Programs
from minicluster.embedded.log import NOTICE
from queue_policies import memory
from queue_policies.orders.guests import Guests
from queue_policies.records import CpuQuota, Happened, Remember, Start
from queue_policies.sharing import SharingConsent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from minicluster.embedded.jobs.instance_values import InstanceValues
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.usage_meter import ProgramRuns, UsageSample
    from queue_policies.nodes.pool import Pool
    from queue_policies.orders.records import GuestBegun, QuotaOrder
    from queue_policies.policy import Policy
    from queue_policies.queue import IndexedQueue
    from queue_policies.records import Memory, QueuedJob, RunningJob, State
    from queue_policies.running import RunningJobs
    from queue_policies.sharing import CoreSharing, JobEnd, Usage

MEMORY, PROGRAMS = "policy-memory", "program-usage"
"""The keys in the store."""
WHOLE_CORES = "affinity"
"""The word for an enforcement that gives jobs whole cores alone."""
_LEAST_LEFT = 0.01  # of the work of a job that runs: only its end shows that nothing is left


class CoScheduling:
    """Hosts and guests, quotas, usage, and the policy's memory. `changed` gets the changes for the policy."""

    def __init__(
        self,
        pool: Pool,
        queue: IndexedQueue,
        running: RunningJobs,
        changed: Callable[[Happened, int], None],
        log: Callable[[int, str], None],
    ) -> None:
        self.sharing: CoreSharing | None = None
        """What is enforced here; None: the policy does not have jobs share cores."""
        self.ways: tuple[str, ...] = ()
        """The words for what enforces quotas, on all ranks that have reported it."""
        self.memory: Memory = None
        self._guests = Guests(pool, queue, running)
        self._pool = pool
        self._queue = queue
        self._running = running
        self._changed = changed
        self._log = log
        self._policy = ""
        self._values: InstanceValues | None = None
        self._programs = Programs()
        self._jobs: dict[int, ActiveJob] = {}
        self._meters: dict[int, JobMeter] = {}
        self._alone: dict[int, Usage] = {}
        """By running job: what it used while it had its cores alone."""
        self.parted: dict[int, tuple[int, ...]] = {}
        """By job that has just ended: those that shared cores with it."""
        self._ends: list[JobEnd] = []
        self._orders: list[QuotaOrder] = []

    def open(self, sharing: CoreSharing, way: str, policy: str, values: InstanceValues) -> None:
        """Begin, with what an earlier lead has stored; another policy's memory is not used."""
        self.sharing, self.ways, self._policy, self._values = sharing, (way,), policy, values
        self._programs = Programs(values.get(PROGRAMS))
        stored = json.loads(values.get(MEMORY) or "{}")
        if stored.get("policy") == policy:
            self.memory = memory.restored(stored["memory"])

    # -- jobs ------------------------------------------------------------------------------------------

    def queued(self, queued: QueuedJob, job: ActiveJob) -> QueuedJob:
        """Return a job that waits with what is known of its program, and whether it shares cores."""
        if self.sharing is None:
            return queued
        self._jobs[job.id] = job
        consent = SharingConsent(job.consent) if job.consent else None
        if job.elastic is not None and job.elastic.malleable:
            consent = SharingConsent.NEVER  # its size changes
        runs = self._programs.find(job, queued.request.size)
        return _known(queued._replace(consent=consent), runs)

    def left(self, job: int) -> None:
        """Note that a job has left the queue without a start."""
        self._jobs.pop(job, None)

    def apply(self, action: Start | CpuQuota | Remember, now: float) -> list[GuestBegun | QuotaOrder]:
        """Apply an action of the policy; return what follows."""
        match action:
            case Start():
                return self._begin(action, now)
            case CpuQuota(job, fraction):
                orders = self._guests.set_quota(job, fraction, now)
                self._measure_anew([order.job for order in orders], now)
                return [*orders]
        self._remember(action)
        return []

    def _begin(self, action: Start, now: float) -> list[GuestBegun | QuotaOrder]:
        """Start a job on another one's cores; where they do not suit it, the policy is asked again."""
        begun = self._guests.begin(action, now)
        if begun is None:
            self._changed(Happened.CLUSTER, action.job)
            return []
        self._measure_anew([begun.host], now)
        return [begun]

    def stopping(self, job: int) -> None:
        """Note that a job's processes have ended: it takes no guest any more."""
        if self.sharing is not None and job in self._running:
            self._running[job] = self._running[job]._replace(stopping=True)

    def ended(self, ended: RunningJob, now: float, done: float | None) -> None:
        """Note how a running job ended; quotas of others change with it."""
        if self.sharing is None:
            return
        job, meter = self._jobs.pop(ended.id, None), self._meters.pop(ended.id, None)
        usage = self._alone.pop(ended.id, None)
        end = self._guests.ended(ended, now, done)
        self._ends.append(end)
        if job is not None and meter is not None and usage is not None and done == 1.0:
            self._programs.add(job, ended.size, meter, usage, end)
            self._queued_anew(job)
            if self._values is not None:
                self._values.set(PROGRAMS, self._programs.text())
        if ended.host is not None or ended.guests:
            self.parted[ended.id] = ended.guests if ended.host is None else (ended.host,)
        orders = self._guests.freed(ended, now)
        self._orders += orders
        self._measure_anew([order.job for order in orders], now)

    def _queued_anew(self, ended: ActiveJob) -> None:
        """Have jobs that wait show what has just become known of their program."""
        for job in [each for each in self._jobs.values() if each.id in self._queue]:
            if (job.userid, job.name) == (ended.userid, ended.name):
                queued = self._queue.remove(job.id)
                self._queue.add(_known(queued, self._programs.find(job, queued.request.size)))

    def orders(self) -> list[QuotaOrder]:
        """Return the quotas that changed as jobs ended, once."""
        found, self._orders = self._orders, []
        return found

    # -- usage -----------------------------------------------------------------------------------------

    def used(self, job: int, sample: UsageSample, now: float) -> None:
        """Take in a rank's report about a running job."""
        if self.sharing is None or job not in self._running:
            return
        running = self._running[job]
        meter = self._meters.setdefault(job, _meter(running, self._pool))
        meter.add(sample)
        usage = meter.usage()
        if usage is None:
            return
        if running.quota == 1 and running.host is None and not running.guests:
            self._alone[job] = usage
        self._changed(Happened.MEASURED, job)
        alone, active = self._alone.get(job), self._jobs.get(job)
        if alone is not None and meter.degraded(running, alone, usage):
            self._changed(Happened.DEGRADED, job)
        runs = None if active is None else self._programs.find(active, running.size)
        known = 0.0 if runs is None else runs.slowdown
        usage = usage._replace(slowdown=max(meter.slowdown, known))
        self._running[job] = _progressed(running, runs, meter, now)._replace(usage=usage)

    def _measure_anew(self, jobs: Iterable[int], now: float) -> None:
        """Forget what jobs used while their quotas or their neighbours were others."""
        for job in jobs:
            if job in self._running:
                meter = self._meters.setdefault(job, _meter(self._running[job], self._pool))
                meter.alone = False
                meter.begin_anew(now)

    def enforced(self, ways: Sequence[str]) -> None:
        """Note what enforces quotas on ranks: where one gives whole cores alone, all quotas are of these."""
        self.ways = tuple(sorted({*self.ways, *ways}))
        if self.sharing is not None and WHOLE_CORES in ways and not self.sharing.whole_cores:
            self.sharing = self.sharing._replace(whole_cores=True)
            self._log(NOTICE, "some ranks can give jobs whole cores alone: quotas are such from now on")

    # -- decisions -------------------------------------------------------------------------------------

    def state(self, state: State) -> State:
        """Return a state with what it has where jobs share cores."""
        if self.sharing is None:
            return state
        ends, self._ends = tuple(self._ends), []
        return state._replace(ends=ends, memory=self.memory, sharing=self.sharing)

    def _remember(self, action: Remember) -> None:
        """Keep the policy's memory, also for the next lead."""
        if action.note:
            self._log(NOTICE, action.note)
        if action.memory != self.memory and self._values is not None:
            stored = {"policy": self._policy, "memory": action.memory}
            self._values.set(MEMORY, json.dumps(stored, separators=(",", ":")))
        self.memory = action.memory


def _progressed(running: RunningJob, runs: ProgramRuns | None, meter: JobMeter, now: float) -> RunningJob:
    """Return the record of a rigid job with the work that is left, by the CPU time of earlier runs."""
    estimate = running.estimate
    if estimate is None and runs is not None and runs.seconds is not None:
        estimate = EarlierRuns(runs.seconds)  # an earlier run has ended since this one began
    if runs is None or runs.cpu_seconds <= 0 or not isinstance(estimate, EarlierRuns):
        return running
    left = max(_LEAST_LEFT, 1 - meter.cpu_seconds / runs.cpu_seconds)
    return running._replace(estimate=estimate, remaining=left, measured=now)


def _known(queued: QueuedJob, runs: ProgramRuns | None) -> QueuedJob:
    """Return a job that waits with what earlier runs of its program show."""
    if runs is None:
        return queued
    estimate = queued.estimate
    if runs.seconds is not None and (estimate is None or isinstance(estimate, EarlierRuns)):
        estimate = EarlierRuns(runs.seconds)
    return queued._replace(usage=runs.usage(), estimate=estimate)


def _meter(running: RunningJob, pool: Pool) -> JobMeter:
    """Return the meter of a job that nothing was measured of."""
    cores = {rank: each[0].bit_count() for rank, each in pool.allocation(running.id).items()}
    fractions = {rank: count / pool.nodes[rank].cores.bit_count() for rank, count in cores.items()}
    alone = running.quota == 1 and running.host is None and not running.guests
    return JobMeter(cores, fractions, running.started, alone=alone)


def described(co_scheduling: CoScheduling, policy: Policy) -> dict[str, Any]:
    """Return what enforces quotas, and the weights of the policy's experts by their names, if it has any."""
    if co_scheduling.sharing is None:
        return {}
    remembered = getattr(policy, "remembered", None)
    weights = {} if remembered is None else remembered(co_scheduling.memory)
    return {"enforcement": ",".join(co_scheduling.ways), "weights": weights}
