"""The scheduler: keeps the indexed queue and the pool, asks the policy, and carries out what it answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minicluster.embedded.errors import SchedulerError
from minicluster.embedded.log import ERR
from queue_policies.errors import PolicyError
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    Happened,
    QueuedJob,
    Reserve,
    RunningJob,
    Start,
    State,
    WakeAt,
)
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.embedded.job import Job
    from minicluster.embedded.pool import Pool
    from minicluster.embedded.resource_set import Holding
    from queue_policies.policy import Policy

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


class Scheduler:
    """Jobs come by `enqueue`, and leave by `dequeue` or by being started."""

    def __init__(self, pool: Pool, policy: Policy, log: Callable[[int, str], None]) -> None:
        self.pool = pool
        self.policy = policy
        self.queue = IndexedQueue()
        self.running = RunningJobs()
        self.wake: float | None = None  # when to decide again although nothing happens
        self._changes: list[Change] = []
        self._log = log
        self._infeasible: dict[Any, str | None] = {}

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
        priority = job.priority or 0
        self.queue.add(QueuedJob(job.id, priority, job.resources, job.t_submit, limit, job.userid))
        self.changed(Happened.ARRIVED, job.id)

    def dequeue(self, job: int) -> None:
        """The job must not start any more."""
        if job in self.queue:
            self.queue.remove(job)
            self.changed(Happened.LEFT, job)

    def free(self, job: int) -> None:
        """The job's resources are free again."""
        if self.running.pop(job) is not None:
            self.pool.release(job)
            self.changed(Happened.ENDED, job)

    def changed(self, what: Happened, job: int | None = None) -> None:
        """Note what the policy is to see at its next decision."""
        self._changes.append(Change(what, job))

    def woken(self) -> None:
        """The time came for which the policy asked."""
        self.wake = None
        self.changed(Happened.CLUSTER)

    def decide(
        self, now: float, start: Callable[[int, Holding], None], reserve: Callable[[int, float], None]
    ) -> None:
        """Ask the policy and carry out its actions: `start` gets each started job with its resources."""
        changes, self._changes = tuple(self._changes), []
        if not changes or not self.queue:
            return
        state = State(self.queue, self.running, self.pool, changes)
        try:
            actions = self.policy.decide(state, now)
        except Exception as error:  # noqa: BLE001 - somebody's policy: the queue goes on without it
            self._log(ERR, f"queue policy {self.policy.name} failed: {type(error).__name__}: {error}")
            return
        for action in actions:
            if isinstance(action, Start):
                self._start(action.job, now, start)
            elif isinstance(action, Reserve) and action.job in self.queue:
                reserve(action.job, action.at)
            elif isinstance(action, WakeAt) and action.time > now:
                self.wake = action.time if self.wake is None else min(self.wake, action.time)

    def _start(self, job: int, now: float, start: Callable[[int, Holding], None]) -> None:
        if job not in self.queue:
            self._log(ERR, f"queue policy {self.policy.name} starts job {job}, which is not in the queue")
            return
        queued = self.queue[job]
        holding = self.pool.alloc(job, queued.request)
        if holding is None:
            self._log(ERR, f"queue policy {self.policy.name} starts job {job}, for which there is no room")
            return
        self.queue.remove(job)
        self.running[job] = RunningJob(job, queued.request, now, now + queued.limit)
        start(job, holding)
