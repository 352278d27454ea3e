"""A cluster that only counts units, and a small world in which a policy runs jobs to their end."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Action,
    Change,
    Happened,
    QueuedJob,
    Reserve,
    RunningJob,
    Sketch,
    Start,
    State,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.policy import Policy


@dataclass(frozen=True, slots=True)
class Units:
    """A request for some units."""

    size: int


class CountingSketch:
    """Counts; places are not told apart."""

    def __init__(self, free: int, held: dict[int, int], placed: dict[int, int] | None = None) -> None:
        self.free = free
        self._held = held
        self._placed = placed or {}

    def fits(self, request: Units) -> bool:
        return request.size <= self.free

    def take(self, job: int, request: Units) -> bool:
        if request.size > self.free:
            return False
        self._placed[job] = request.size
        self.free -= request.size
        return True

    def holds(self, job: int) -> bool:
        return job in self._placed

    def give(self, job: int) -> None:
        self.free += self._placed.pop(job) if job in self._placed else self._held[job]

    def mirror(self, other: CountingSketch, job: int) -> None:
        self._placed[job] = other._placed[job]
        self.free -= other._placed[job]

    def copy(self) -> CountingSketch:
        return CountingSketch(self.free, self._held, dict(self._placed))


class CountingCluster:
    """So many units, all up."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.held: dict[int, int] = {}

    @property
    def free(self) -> int:
        return self.total - sum(self.held.values())

    def sketch(self) -> Sketch:
        return cast("Sketch", CountingSketch(self.free, self.held))


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a test: it ends after `runtime`, which is at most its limit."""

    id: int
    size: int
    arrival: float = 0.0
    runtime: float = 10.0
    limit: float = 10.0
    priority: int = 16

    def queued(self) -> QueuedJob:
        return QueuedJob(self.id, self.priority, Units(self.size), self.arrival, self.limit)


@dataclass
class World:
    """Runs jobs under a policy, and keeps the log of what happened."""

    policy: Policy
    total: int
    queue: IndexedQueue = field(default_factory=IndexedQueue)
    running: dict[int, RunningJob] = field(default_factory=dict)
    log: list[tuple[float, Action]] = field(default_factory=list)
    started: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster = CountingCluster(self.total)

    def run(self, jobs: Sequence[Job]) -> World:
        """Until nothing happens any more."""
        known = {job.id: job for job in jobs}
        events = [(job.arrival, 1, job.id) for job in jobs]  # at one time, jobs end before others arrive
        heapq.heapify(events)
        while events:
            now, changes = events[0][0], []
            while events and events[0][0] == now:
                _, arrives, job = heapq.heappop(events)
                changes.append(self._arrive(known[job]) if arrives else self._end(job))
            for job in self._decide(now, changes):
                heapq.heappush(events, (now + known[job].runtime, 0, job))
        return self

    def _arrive(self, job: Job) -> Change:
        self.queue.add(job.queued())
        return Change(Happened.ARRIVED, job.id)

    def _end(self, job: int) -> Change:
        del self.running[job], self.cluster.held[job]
        return Change(Happened.ENDED, job)

    def _decide(self, now: float, changes: list[Change]) -> list[int]:
        actions = self.policy.decide(State(self.queue, self.running, self.cluster, changes), now)
        self.log += [(now, action) for action in actions]
        return [self._start(action.job, now) for action in actions if isinstance(action, Start)]

    def _start(self, job: int, now: float) -> int:
        queued = self.queue.remove(job)  # a KeyError here is a start of what does not wait
        self.cluster.held[job] = queued.request.size
        assert self.cluster.free >= 0, f"job {job} does not fit"
        self.running[job] = RunningJob(job, queued.request, now, now + queued.limit)
        self.started[job] = now
        return job

    def reserved(self, job: int) -> list[float]:
        """The start times that were promised to a job."""
        return [a.at for _, a in self.log if isinstance(a, Reserve) and a.job == job]


class Kit:
    """What tests build with."""

    Job = Job
    World = World
    Units = Units
    CountingCluster = CountingCluster

    @staticmethod
    def starts(
        policy: Policy,
        waiting: Sequence[Job],
        running: Sequence[Job] = (),
        total: int = 4,
        changes: Sequence[Change] = (),
    ) -> list[int]:
        """Which jobs a policy starts at time 0; `limit` of a running job is what is left of it."""
        cluster = CountingCluster(total)
        cluster.held.update((job.id, job.size) for job in running)
        records = {job.id: RunningJob(job.id, Units(job.size), -1.0, job.limit) for job in running}
        state = State(IndexedQueue(job.queued() for job in waiting), records, cluster, changes)
        return [action.job for action in policy.decide(state, 0.0) if isinstance(action, Start)]


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def inf() -> float:
    return math.inf
