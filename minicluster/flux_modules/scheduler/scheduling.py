"""What waits, what runs and what is free; and one decision of the policy, carried out on that."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from minicluster.embedded import elastic
from minicluster.embedded.jobid import f58
from minicluster.embedded.jobspec import Resources, parse
from minicluster.embedded.pool import Pool
from minicluster.embedded.resizing import Resizing, record
from minicluster.embedded.resource_set import holding_of
from minicluster.flux_modules.scheduler.errors import NoRoom
from queue_policies.decision import decide
from queue_policies.errors import PolicyDefect
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
    from collections.abc import Iterable, Sequence

    from minicluster.embedded.elastic import Place
    from minicluster.embedded.resource_set import Holding, R
    from minicluster.flux_modules.scheduler.ranks import Ranks
    from queue_policies.policy import Policy
    from queue_policies.records import Action


@dataclass(frozen=True, slots=True)
class Started:
    """A job that starts: what it gets, and the slots that this is.

    A malleable job starts at its least size; `more` is held for companions, by which it grows at once.
    """

    job: QueuedJob
    holding: Holding
    slots: int
    more: tuple[Place, ...] = ()


@dataclass(slots=True)
class Decided:
    """What one decision comes to."""

    starts: list[Started] = field(default_factory=list)
    reserved: dict[int, float] = field(default_factory=dict)
    wake: float | None = None


class Scheduling:
    """Jobs come by `arrive` and leave by `leave`, or by being started and then freed.

    `owner` is the user whose jobs can be malleable, as companions run as this one's; None: no job can.
    """

    def __init__(self, policy: Policy, ranks: Ranks, owner: int | None = None) -> None:
        self.policy = policy
        self.ranks = ranks
        self._owner = owner
        self.pool = Pool(ranks.filled())
        self.queue = IndexedQueue()
        self.running = RunningJobs()
        self.expected: dict[int, float] = {}  # when a job is expected to start, as far as the policy reserved
        self.defect = ""  # what is wrong with the policy, since its last decision
        self._changes: list[Change] = []
        self._ready: list[Started] = []
        self._malleable: set[int] = set()  # of the jobs that run
        self.resizing = Resizing(self.pool, self.queue, self.running, self._changes.append, self._begin)

    @property
    def malleable(self) -> bool:
        """Whether there is a job that can be resized."""
        return bool(self._malleable)

    def allocated(self) -> Holding:
        """What is given out, to all jobs together."""
        return self.pool.allocated()

    def infeasible(self, jobspec: Any) -> str | None:
        """Why such a job can never run here, or None. Raises RpcError where the jobspec is wrong."""
        return self.pool.infeasible(parse(jobspec).resources)

    def queued(self, job: int, priority: int, user: int, submitted: float, jobspec: Any) -> QueuedJob:
        """Return the job as the queue has it. Raises RpcError where the jobspec is wrong.

        Elastic jobs have their size chosen when they start. Malleable are those of the owner.
        """
        parsed = parse(jobspec)
        limit = parsed.duration or math.inf
        if parsed.elastic is None:
            return QueuedJob(job, priority, parsed.resources, submitted, limit, user)
        request = self.pool.counted(parsed.resources)
        unit = request.size // parsed.elastic.least
        told = parsed.elastic.malleable and user == self._owner
        most = parsed.elastic.most
        if told:
            most = min(most, max(self.pool.total // unit, parsed.elastic.least))
        sizes = Elastic(request.size, most * unit, told)
        return QueuedJob(job, priority, request, submitted, limit, user, sizes)

    def arrive(self, job: QueuedJob) -> None:
        """The job may start from now on."""
        self.queue.add(job)
        self._changed(Happened.ARRIVED, job.id)

    def leave(self, job: int) -> None:
        """The job must not start any more."""
        if any(started.job.id == job for started in self._ready):
            self._ready = [started for started in self._ready if started.job.id != job]
            self.free(job)
            return
        if job in self.queue:
            self.queue.remove(job)
        elif not self.resizing.cancel(job):
            return
        self.expected.pop(job, None)
        self._changed(Happened.LEFT, job)

    def prioritize(self, job: int, priority: int) -> None:
        """The job takes another place in the queue."""
        if job in self.queue and self.queue[job].priority != priority:
            changed = self.queue[job]._replace(priority=priority)
            self.leave(job)
            self.arrive(changed)

    def resume(self, job: RunningJob, holding: Holding) -> None:
        """The job ran before this scheduler was loaded. Raises NoRoom where its ranks are no longer there."""
        gone = [rank for rank in holding if rank not in self.ranks.nodes]
        if gone:
            raise NoRoom(f"job {f58(job.id)} runs on ranks that are not here: {', '.join(map(str, gone))}")
        self.pool.hold(job.id, holding)
        self.running[job.id] = job

    def free(self, job: int, ranks: Iterable[int] | None = None) -> None:
        """What the job held on these ranks is free; on all of them (None) it has ended."""
        if job not in self.running:
            return
        if ranks is None:
            holding, ended = self.pool.holding(job), self.running[job]
            self.pool.release(job)
            self.running.pop(job)
            self._malleable.discard(job)
            self.resizing.ended(job, cast("Resources", ended.request), holding)
            self._changed(Happened.ENDED, job)
        elif job not in self._malleable:  # else its companions may be there: all is free at its end
            holding = self.pool.holding(job)
            self.pool.reduce(job, {rank: holding[rank] for rank in ranks if rank in holding})
            self._stiffen(job, self.pool.holding(job))

    def part(self, job: int, companion: int, place: Holding) -> None:
        """The job ends, and its companion still has this place: it holds that as a job of its own."""
        self.pool.reduce(job, place)
        self.pool.hold(companion, place)
        self.running[companion] = RunningJob(companion, asked_for(place), self.running[job].started)

    def _stiffen(self, job: int, holding: Holding) -> None:
        """What the job holds is not what was given to it: it keeps that until it ends."""
        request = asked_for(holding)
        self.running[job] = self.running[job]._replace(request=request, elastic=None, heeds=False)
        self._malleable.discard(job)
        self._changed(Happened.CLUSTER, job)

    def limit(self, job: int, end: float) -> None:
        """The running job will be ended at another time."""
        if job in self.running:
            self.running[job] = self.running[job]._replace(end=end)
            self._changed(Happened.CLUSTER, job)

    def woken(self) -> None:
        """The time came for which the policy asked."""
        self._changed(Happened.WOKEN)

    def follow_ranks(self) -> None:
        """`ranks` changed: which are up, or which there are."""
        if len(self.ranks.nodes) != sum(1 for node in self.pool.nodes if node.cores):
            self._rebuild()
        for rank in self.pool.up ^ self.ranks.up:
            self.pool.set_up(rank, rank in self.ranks.up)
        self._changed(Happened.CLUSTER)

    def _rebuild(self) -> None:
        """Ranks left: make a pool without them, in which every job has what it still holds."""
        held = {job: self.pool.holding(job) for job in self.running}
        self.pool = Pool(self.ranks.filled())
        self.resizing.follow(self.pool)
        for job, holding in held.items():
            here = {rank: share for rank, share in holding.items() if rank in self.ranks.nodes}
            self.pool.hold(job, here)
            if here != holding:
                self._stiffen(job, here)

    def _changed(self, what: Happened, job: int | None = None) -> None:
        self._changes.append(Change(what, job))

    def decide(self, now: float) -> Decided:
        """Ask the policy. What is wrong with it comes to `defect`: jobs wait until the next change."""
        changes = tuple(self._changes)
        self._changes.clear()
        decided = Decided(self._begun(now))
        if not changes or not (len(self.queue) or self._malleable):
            return decided
        try:
            state = State(self.queue, self.running, self.pool, changes)
            self._carry_out(decide(self.policy, state, now), now, decided)
            self.defect = ""
        except (PolicyDefect, NoRoom) as error:
            self.defect = str(error)
            # It has not looked at what changed: at the next change it has to look at everything.
            self._changes.append(Change(Happened.CLUSTER))
        return decided

    def _begun(self, now: float) -> list[Started]:
        """Those for which others have shrunk meanwhile."""
        ready, self._ready = self._ready, []
        for started in ready:
            job = started.job
            self.expected.pop(job.id, None)
            self.running[job.id] = record(job, cast("Resources", self.running[job.id].request), now)
        return ready

    def _begin(self, job: QueuedJob, request: Resources, holding: Holding) -> None:
        self.running[job.id] = self.running[job.id]._replace(request=request)
        self._ready.append(self._started(job, request, holding))

    def _started(self, job: QueuedJob, request: Resources, holding: Holding) -> Started:
        if job.elastic is None or not job.elastic.malleable:
            return Started(job, holding, request.slots_in_all)
        self._malleable.add(job.id)
        least = cast("Resources", job.request)
        places = elastic.places(holding, request)
        more = tuple(places[least.workers :])
        if more:
            self.resizing.begin(job.id)
        return Started(job, elastic.holding(places[: least.workers]), least.slots_in_all, more)

    def _carry_out(self, actions: Sequence[Action], now: float, decided: Decided) -> None:
        for action in actions:
            if isinstance(action, Start):
                decided.starts += self._start(action, now)
            elif isinstance(action, Grow):
                self.resizing.grow(action)
            elif isinstance(action, Shrink):
                self.resizing.shrink(action)
            elif isinstance(action, Reserve) and action.job in self.queue:
                decided.reserved[action.job] = action.at
            elif isinstance(action, WakeAt):
                decided.wake = action.time if decided.wake is None else min(decided.wake, action.time)
        for started in decided.starts:
            self.expected.pop(started.job.id, None)
        self.expected.update(decided.reserved)

    def _start(self, action: Start, now: float) -> list[Started]:
        """What starts now."""
        job = self.queue[action.job]
        request: Any = job.request
        if action.size is not None and action.size != request.size:
            request = request.sized(action.size)
        if self.resizing.wait_for(job, request, action.after, now):
            return []
        holding = self.pool.alloc(job.id, request)
        if holding is None:
            what = f"starts job {f58(job.id)} at {request.size} cores, for which there is no room"
            raise NoRoom(f"queue policy {self.policy.name} {what}")
        self.queue.remove(job.id)
        self.running[job.id] = record(job, request, now)
        return [self._started(job, request, holding)]


def asked_for(holding: Holding) -> Resources:
    """A request for as much, for a job of which nobody knows any more what it asked for."""
    cores = sum(cores.bit_count() for cores, _ in holding.values())
    return Resources(0, cores, 1, 0)


def running(job: int, priority: int, user: int, submitted: float, resources: R) -> tuple[RunningJob, Holding]:
    """A job that ran before, by its R."""
    holding = holding_of(resources)
    execution = resources["execution"]
    record = RunningJob(
        job,
        asked_for(holding),
        execution.get("starttime", 0.0),
        execution.get("expiration", 0.0) or math.inf,
        priority=priority,
        submitted=submitted,
        user=user,
    )
    return record, holding
