"""The scheduler: keeps the indexed queue and the pool, asks the policy, and carries out what it answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from minicluster.embedded import elastic
from minicluster.embedded.errors import SchedulerError
from minicluster.embedded.log import ERR
from minicluster.embedded.starters import Resize, Starters
from queue_policies.decision import decide, stuck
from queue_policies.errors import PolicyDefect, PolicyError
from queue_policies.learning import Learner
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    Elastic,
    Grow,
    Happened,
    QueuedJob,
    Reserve,
    RunningJob,
    Shrink,
    Start,
    State,
    WakeAt,
)
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from minicluster.embedded.elastic import Place
    from minicluster.embedded.job import Job
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.pool import Pool
    from minicluster.embedded.resource_set import Holding
    from queue_policies.policy import Policy
    from queue_policies.records import Action

DEFAULT_POLICY = "fcfs"


def policy_of(config: Mapping[str, Any]) -> Policy:
    """The policy that broker.toml names. Raises SchedulerError, which says where it is named."""
    from queue_policies.plugins import load  # noqa: PLC0415 - followers never load policies

    table = config.get("minicluster", {})
    name = table.get("queue-policy", DEFAULT_POLICY)
    try:
        return load(name, table.get("scheduler-settings"))
    except PolicyError as error:
        raise SchedulerError(f"broker.toml, [minicluster] queue-policy = {name!r}: {error}") from error


class Orders(Protocol):
    """Whoever carries out what the policy decided; none of these calls comes back to the scheduler."""

    def start(self, job: int, request: Resources, holding: Holding) -> None:
        """Start a job on these resources."""

    def reserve(self, job: int, at: float) -> None:
        """Tell when a waiting job is expected to start."""

    def grow(self, job: int, more: Holding) -> None:
        """Order a running job to grow into these resources, which are held for it."""

    def shrink(self, job: int, workers: int) -> None:
        """Order a running job to give up so many workers."""


class Recorder(Protocol):
    """Keeps a record of decisions."""

    def __call__(self, state: State, now: float, actions: Sequence[Action]) -> None:
        """Record a decision before it is carried out."""

    def close(self) -> None:
        """There will be none any more."""


class Scheduler:
    """Jobs come by `enqueue`, and leave by `dequeue` or by being started."""

    orders: Orders

    def __init__(self, pool: Pool, policy: Policy, log: Callable[[int, str], None]) -> None:
        self.pool = pool
        self.policy = policy
        self.queue = IndexedQueue()
        self.running = RunningJobs()  # with those that wait until others have shrunk
        self.wake: float | None = None  # when to decide again although nothing happens
        self.recorder: Recorder | None = None
        self._changes: list[Change] = []
        self._log = log
        self._infeasible: dict[Any, str | None] = {}
        self._resizes: dict[int, Resize] = {}
        self._starters = Starters(pool, self._resizes)
        self._malleable = 0  # malleable jobs that run
        self._learner = Learner()
        self._names: dict[int, str] = {}  # of elastic jobs: what the learner knows them by
        self._reports: dict[int, tuple[float, float]] = {}  # by job: share done, and when, at its size
        self._said = ""  # the last defect

    @property
    def idle(self) -> bool:
        """Whether no job waits to be started."""
        return not self.queue and not self._starters

    def infeasible(self, job: Job) -> str | None:
        """Why the job can never run here, or None."""
        known = self._infeasible
        if job.resources not in known:
            if len(known) > 1000:
                known.clear()
            known[job.resources] = self.pool.infeasible(job.resources)
        return known[job.resources]

    def enqueue(self, job: Job) -> None:
        """The job may start from now on."""
        limit = job.duration or math.inf
        queued = QueuedJob(job.id, job.priority or 0, job.resources, job.t_submit, limit, job.userid)
        self.queue.add(queued if job.elastic is None else self._elastic(queued, job))
        self.changed(Happened.ARRIVED, job.id)

    def _elastic(self, queued: QueuedJob, job: Job) -> QueuedJob:
        """With the sizes, which in units of the cluster go up to all of it."""
        sizes = cast("elastic.Sizes", job.elastic)
        request = self.pool.counted(job.resources)
        unit = request.size // request.workers
        most = min(sizes.most, max(self.pool.total // unit, sizes.least))
        self._names[job.id] = job.name
        return replace(
            queued,
            request=request,
            elastic=Elastic(sizes.least * unit, most * unit, sizes.malleable),
            estimate=self._learner.estimate(job.name, request.size, queued.limit),
        )

    def dequeue(self, job: int) -> None:
        """The job must not start any more."""
        if job in self._starters:
            self._starters.cancel(job)
            self.running.pop(job)
        elif job in self.queue:
            self.queue.remove(job)
        else:
            return
        self._names.pop(job, None)
        self.changed(Happened.LEFT, job)

    def free(self, job: int, now: float) -> None:
        """The job's resources are free again."""
        record = self.running.pop(job)
        if record is None:
            return
        holding = self.pool.holding(job)
        self.pool.release(job)
        if record.elastic is not None:
            self._names.pop(job, None)
            self._reports.pop(job, None)
            self._malleable -= record.elastic.malleable
            resize = self._resizes.pop(job, None)
            if resize is not None:
                self._give(job, resize, elastic.places(holding, cast("Resources", record.request)), now)
        self.changed(Happened.ENDED, job)

    def changed(self, what: Happened, job: int | None = None) -> None:
        """Note what the policy is to see at its next decision."""
        self._changes.append(Change(what, job))

    def woken(self) -> None:
        """The time came for which the policy asked."""
        self.wake = None
        self.changed(Happened.WOKEN)

    # -- what becomes of elastic jobs ------------------------------------------------------------------

    def heeds(self, job: int, heeds: bool) -> None:
        """The job began or ceased to heed orders."""
        if job in self.running and self.running[job].heeds != heeds:
            self.running[job] = replace(self.running[job], heeds=heeds)
            self.changed(Happened.REGISTERED, job)

    def progressed(self, job: int, share: float, now: float) -> None:
        """The job told which share of its work is done."""
        record = self.running[job]
        if job in self._reports:
            before, then = self._reports[job]
            self._learner.observe(self._names[job], record.size, share - before, now - then)
        if record.heeds:  # amid an order it computes at two sizes
            self._reports[job] = (share, now)
        self.running[job] = replace(record, remaining=1 - share, measured=now)

    def resized(self, job: int, workers: int, lost: Sequence[Place], now: float, *, heeds: bool) -> None:
        """An order is done: the job has so many workers, and gave up these places."""
        record = self.running[job]
        request = cast("Resources", record.request).with_workers(workers)
        self.pool.reduce(job, elastic.holding(lost))
        self._reports.pop(job, None)
        left = None if record.remaining is None else record.left(now)
        self.running[job] = replace(
            record, request=request, acted=now, heeds=heeds, remaining=left, measured=now
        )
        self._give(job, self._resizes.pop(job), lost, now)
        self.changed(Happened.RESIZED, job)

    def refused(self, job: int, unused: Holding, now: float, *, heeds: bool) -> None:
        """An order came to nothing; `unused` was held for the job, which keeps its size."""
        self.pool.reduce(job, unused)
        self.running[job] = replace(self.running[job], acted=now, heeds=heeds)
        for queued in self._starters.refused(self._resizes.pop(job)):
            self._requeue(queued)
        self.changed(Happened.REFUSED, job)

    def _give(self, donor: int, resize: Resize, places: Sequence[Place], now: float) -> None:
        """Start those who have all now."""
        for starter in self._starters.given(donor, resize, places):
            got = self._starters.place(starter)
            if got is None:
                self._requeue(starter.queued)
                self.changed(Happened.REFUSED, donor)
            else:
                self._begin(starter.queued, *got, now)

    def _requeue(self, queued: QueuedJob) -> None:
        self.running.pop(queued.id)
        self.queue.add(queued)

    # -- decisions -------------------------------------------------------------------------------------

    def decide(self, now: float) -> None:
        """Ask the policy and have its actions carried out."""
        changes, self._changes = tuple(self._changes), []
        if not changes or not (self.queue or self._malleable):
            return
        if self._said:  # it did not take in what it was told the last time
            changes = (Change(Happened.CLUSTER), *changes)
        state = State(self.queue, self.running, self.pool, changes)
        try:
            actions = decide(self.policy, state, now)
        except PolicyDefect as defect:
            self._say(str(defect))
            return
        self._said = ""
        if self.recorder is not None:
            self.recorder(state, now, actions)
        for action in actions:
            self._carry_out(action, now)
        if self.queue and not self.running and self.wake is None:
            self._look_for_a_stuck_queue(state, now)

    def _say(self, defect: str) -> None:
        self._said = defect
        self._log(ERR, defect)

    def _look_for_a_stuck_queue(self, state: State, now: float) -> None:
        """Say so where the policy will not be asked again, though its first job could start."""
        if self.pool.fits(next(iter(self.queue)).request):
            self._say(str(stuck(self.policy, state, now)))

    def _carry_out(self, action: Action, now: float) -> None:
        if isinstance(action, Start):
            self._start(action, now)
        elif isinstance(action, Grow):
            self._grow(action)
        elif isinstance(action, Shrink):
            self._shrink(action)
        elif isinstance(action, Reserve):
            if action.job in self.queue:
                self.orders.reserve(action.job, action.at)
        elif isinstance(action, WakeAt):
            self.wake = action.time if self.wake is None else min(self.wake, action.time)

    def _start(self, action: Start, now: float) -> None:
        queued = self.queue[action.job]
        request = cast("Resources", queued.request)
        if action.size is not None and action.size != request.size:
            request = request.sized(action.size)
        donors = [donor for donor in action.after if donor in self._resizes]
        if donors:
            self.queue.remove(action.job)
            self._starters.add(queued, request, donors)
            self.running[action.job] = _running(queued, request, now)
            return
        holding = self.pool.alloc(action.job, request)
        if holding is None:
            what = f"starts job {action.job}, for which there is no room"
            self._log(ERR, f"queue policy {self.policy.name} {what}")
            return
        self.queue.remove(action.job)
        self._begin(queued, request, holding, now)

    def _begin(self, queued: QueuedJob, request: Resources, holding: Holding, now: float) -> None:
        self.running[queued.id] = _running(queued, request, now)
        self._malleable += queued.elastic is not None and queued.elastic.malleable
        self.orders.start(queued.id, request, holding)

    def _grow(self, action: Grow) -> None:
        """Order what can be had of it: free units may be where the job cannot use them."""
        record = self.running[action.job]
        request = cast("Resources", record.request)
        for workers in range(request.sized(action.size).workers - request.workers, 0, -1):
            more = self.pool.extend(action.job, request.with_workers(workers))
            if more is not None:
                self.running[action.job] = replace(record, heeds=False)
                self._resizes[action.job] = Resize()
                self.orders.grow(action.job, more)
                return

    def _shrink(self, action: Shrink) -> None:
        record = self.running[action.job]
        request = cast("Resources", record.request)
        smaller = request.sized(action.size)
        self.running[action.job] = replace(record, heeds=False)
        self._resizes[action.job] = Resize(request.size - smaller.size)
        self.orders.shrink(action.job, request.workers - smaller.workers)


def _running(queued: QueuedJob, request: Resources, now: float) -> RunningJob:
    return RunningJob(
        queued.id,
        request,
        now,
        now + queued.limit,
        queued.elastic,
        queued.priority,
        queued.submitted,
        queued.user,
        now,
        False,
        None if queued.elastic is None else 1.0,
        now,
        queued.estimate,
    )
