"""The scheduler: keeps the indexed queue and the pool, calls the policy, and applies its actions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol, cast

from minicluster.embedded.errors import SchedulerError
from minicluster.embedded.jobs.co_scheduling import CoScheduling
from minicluster.embedded.log import ERR, WARNING
from queue_policies.decision import decide, stuck
from queue_policies.errors import PolicyDefect, PolicyError
from queue_policies.learning import Learner
from queue_policies.nodes.feasibility import counted_cores, infeasible
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Begun, GrowOrder, GuestBegun, Misfit, QuotaOrder, ShrinkOrder
from queue_policies.orders.resizing import Resizing
from queue_policies.plugin_group import shown
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    CpuQuota,
    Elastic,
    Happened,
    QueuedJob,
    Remember,
    Reserve,
    Start,
    State,
    WakeAt,
)
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from broker_config.formats.jobspec import RequestedResources, Sizes
    from minicluster.embedded.jobs.job import ActiveJob
    from queue_policies.nodes.pool import Pool
    from queue_policies.nodes.records import Slot
    from queue_policies.placement.protocol import Placement
    from queue_policies.policy import Policy
    from queue_policies.records import Action

DEFAULT_POLICY = "fcfs"
DEFAULT_PLACEMENT = "low-rank"


def policy_of(config: Mapping[str, Any], log: Callable[[int, str], None]) -> Policy:
    """Make the policy that broker.toml names, and log which plug-ins are ignored.

    Raises SchedulerError, which names the key.
    """
    from queue_policies.plugins import load  # noqa: PLC0415 - followers never load policies

    table = config.get("minicluster", {})
    name = table.get("queue-policy", DEFAULT_POLICY)
    try:
        return load(name, table.get("scheduler-settings"), lambda text: log(WARNING, text))
    except PolicyError as error:
        raise SchedulerError(f"broker.toml, [minicluster] queue-policy = {name!r}: {error}") from error


def placement_of(config: Mapping[str, Any], log: Callable[[int, str], None]) -> Placement | None:
    """Make the placement that broker.toml names, and log which plug-ins are ignored.

    None: it names none, nor an affinity. Raises SchedulerError, which names the key.
    """
    name, settings = _named_placement(config)
    if not name:
        return None
    from queue_policies.placement.plugins import load  # noqa: PLC0415 - followers never load placements

    try:
        return load(name, settings, lambda text: log(WARNING, text))
    except PolicyError as error:
        raise SchedulerError(f"broker.toml, [minicluster] placement = {name!r}: {error}") from error


def placement_text(config: Mapping[str, Any]) -> str:
    """Return the placement that broker.toml names, written NAME[:SETTING=VALUE,…]; empty: it names none."""
    name, settings = _named_placement(config)
    return ":".join(
        filter(None, (name, ",".join(f"{key}={shown(value)}" for key, value in settings.items())))
    )


def _named_placement(config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a placement's name and settings; an affinity is one of them. The name is empty without any."""
    table = config.get("minicluster", {})
    settings = dict(table.get("placement-settings") or {})
    if table.get("affinity"):
        settings["affinity"] = table["affinity"]
    return table.get("placement") or (DEFAULT_PLACEMENT if settings else ""), settings


Deed = Begun | GuestBegun | GrowOrder | ShrinkOrder | QuotaOrder | Reserve
"""What the job manager is to do after a decision."""


class Recorder(Protocol):
    """Keeps a record of decisions."""

    def __call__(self, state: State, now: float, actions: Sequence[Action]) -> None:
        """Record a decision before it is carried out."""

    def close(self) -> None:
        """Close the record: no decision follows."""


class Scheduler:
    """Decides which jobs start. Jobs come by `enqueue`, and leave by `dequeue` or when they start."""

    def __init__(self, pool: Pool, policy: Policy, log: Callable[[int, str], None]) -> None:
        self.pool = pool
        self.policy = policy
        self.queue = IndexedQueue()
        self.running = RunningJobs()  # with those that wait until others have shrunk
        self.wake: float | None = None  # when to decide again although nothing happens
        self.recorder: Recorder | None = None
        self._changes: list[Change] = []
        self._log = log
        self.infeasible_reasons: dict[Any, str | None] = {}
        """By request: why it can never be satisfied, None where it can. Empty it when the nodes change."""
        self.resizing = Resizing(pool, self.queue, self.running, self._changes.append)
        self.co_scheduling = CoScheduling(pool, self.queue, self.running, self.changed, log)
        self._actions = Actions(self.queue, self.running, self.resizing)
        self._malleable = 0  # malleable jobs that run
        self._learner = Learner()
        self._names: dict[int, str] = {}  # of elastic jobs: their names for the learner
        self._reports: dict[int, tuple[float, float]] = {}  # by job: fraction done, and when, at its size
        self._last_defect = ""  # the last defect

    @property
    def idle(self) -> bool:
        """Whether no job waits to be started."""
        return not self.queue and not self.resizing.waiting

    def infeasible(self, job: ActiveJob) -> str | None:
        """Why the job can never run here, or None."""
        known = self.infeasible_reasons
        if job.resources not in known:
            if len(known) > 1000:
                known.clear()
            known[job.resources] = infeasible(self.pool, job.resources)
        return known[job.resources]

    def enqueue(self, job: ActiveJob) -> None:
        """Add a job, which may start from now on."""
        limit = job.duration or math.inf
        queued = QueuedJob(job.id, job.priority or 0, job.resources, job.t_submit, limit, job.userid)
        queued = queued if job.elastic is None else self._elastic(queued, job)
        self.queue.add(self.co_scheduling.queued(queued, job))
        self.changed(Happened.ARRIVED, job.id)

    def _elastic(self, queued: QueuedJob, job: ActiveJob) -> QueuedJob:
        """Return an elastic job with its sizes in units of the cluster, at most the whole cluster."""
        sizes = cast("Sizes", job.elastic)
        request = job.resources._replace(cores=counted_cores(self.pool, job.resources))
        unit = request.size // request.workers
        most = min(sizes.most, max(self.pool.total // unit, sizes.least))
        self._names[job.id] = job.name
        return queued._replace(
            request=request,
            elastic=Elastic(sizes.least * unit, most * unit, sizes.malleable),
            estimate=self._learner.estimate(job.name, request.size, queued.limit),
        )

    def dequeue(self, job: int) -> None:
        """Remove a job, which must not start any more."""
        if job in self.queue:
            self.queue.remove(job)
            change: Happened | None = Happened.LEFT
        else:
            change = self.resizing.cancel(job)
        if change is not None:
            self._names.pop(job, None)
            self.co_scheduling.left(job)
            self.changed(change, job)

    def free(self, job: int, now: float, *, completed: bool = False) -> None:
        """Free the job's resources; `completed` says whether all of its work is done."""
        ended = self.running.pop(job)
        if ended is None:
            return
        allocation = self.pool.allocation(job)
        self.pool.release(job)
        if ended.elastic is not None:
            self._names.pop(job, None)
            self._reports.pop(job, None)
            self._malleable -= ended.elastic.malleable
            self.resizing.ended(job, cast("RequestedResources", ended.request), allocation)
        left = 0.0 if completed else ended.left(now)
        self.co_scheduling.ended(ended, now, None if left is None else 1 - left)
        self.changed(Happened.ENDED, job)

    def changed(self, what: Happened, job: int | None = None) -> None:
        """Note a change for the policy's next decision."""
        self._changes.append(Change(what, job))

    def woken(self) -> None:
        """Note that the time has come for which the policy asked."""
        self.wake = None
        self.changed(Happened.WOKEN)

    # -- elastic jobs ----------------------------------------------------------------------------------

    def progressed(self, job: int, fraction: float, now: float) -> None:
        """Note the fraction of its work that a job reported as done."""
        running = self.running[job]
        if job in self._reports:
            before, then = self._reports[job]
            self._learner.observe(self._names[job], running.size, fraction - before, now - then)
        if running.heeds:  # amid an order it computes at two sizes
            self._reports[job] = (fraction, now)
        self.resizing.progressed(job, fraction, now)

    def resized(self, job: int, workers: int, lost: Sequence[Slot], now: float, *, heeds: bool) -> None:
        """Note that an order is done: the job has so many workers, and gave up these slots."""
        self._reports.pop(job, None)
        self.resizing.resized(job, workers, lost, now, heeds=heeds)

    # -- decisions -------------------------------------------------------------------------------------

    def decide(self, now: float) -> list[Deed]:
        """Call the policy; return what to do, in order. Queue and pool are updated already."""
        deeds: list[Deed] = [*self.co_scheduling.orders(), *self.resizing.ready(now)]
        if deeds:
            self._malleable += _malleable(deeds)
        changes = tuple(self._changes)
        self._changes.clear()
        if not changes or not (self.queue or self._malleable or self.co_scheduling.sharing):
            return deeds
        if self._last_defect:  # it may not have processed the changes of its last call
            changes = (Change(Happened.CLUSTER), *changes)
        state = self.co_scheduling.state(State(self.queue, self.running, self.pool, changes))
        try:
            actions = decide(self.policy, state, now)
        except PolicyDefect as defect:
            self._report_defect(str(defect))
            return deeds
        self._last_defect = ""
        if self.recorder is not None:
            self.recorder(state, now, actions)
        carried_out = [deed for action in actions for deed in self._apply(action, now)]
        self._malleable += _malleable(carried_out)
        if self.queue and not self.running and self.wake is None:
            self._check_stuck_queue(state, now)
        return [*deeds, *carried_out]

    def _report_defect(self, defect: str) -> None:
        self._last_defect = defect
        self._log(ERR, defect)

    def _check_stuck_queue(self, state: State, now: float) -> None:
        """Report a defect where no event will call the policy again, though its first job could start."""
        try:
            if self.pool.fits(next(iter(self.queue)).request):
                self._report_defect(str(stuck(self.policy, state, now)))
        except PolicyDefect as defect:
            self._report_defect(str(defect))

    def _apply(self, action: Action, now: float) -> Sequence[Deed]:
        if isinstance(action, WakeAt):
            self.wake = action.time if self.wake is None else min(self.wake, action.time)
            return ()
        if isinstance(action, Reserve):
            return (action,) if action.job in self.queue else ()
        if isinstance(action, CpuQuota | Remember) or (isinstance(action, Start) and action.on is not None):
            return self.co_scheduling.apply(action, now)
        deed = self._actions.apply(action, now)
        if isinstance(deed, Misfit):
            self._log(ERR, deed.described(self.policy.name, str(deed.job)))
            return ()
        return () if deed is None else (deed,)


def _malleable(deeds: Iterable[Deed]) -> int:
    """Return how many malleable jobs begin."""
    found = 0
    for deed in deeds:
        if isinstance(deed, Begun) and deed.queued.elastic is not None:
            found += deed.queued.elastic.malleable
    return found
