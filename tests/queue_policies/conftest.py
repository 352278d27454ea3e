"""Situations to decide in, and a small world in which a policy runs rigid jobs to their end."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from queue_policies.counting import CountingCluster, Units
from queue_policies.decision import decide
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Action,
    Change,
    Elastic,
    Happened,
    QueuedJob,
    Reserve,
    RunningJob,
    Start,
    State,
)
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.policy import Policy


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
    running: RunningJobs = field(default_factory=RunningJobs)
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
        self.running.pop(job)
        self.cluster.release(job)
        return Change(Happened.ENDED, job)

    def _decide(self, now: float, changes: list[Change]) -> list[int]:
        actions = self.policy.decide(State(self.queue, self.running, self.cluster, changes), now)
        self.log += [(now, action) for action in actions]
        return [self._start(action.job, now) for action in actions if isinstance(action, Start)]

    def _start(self, job: int, now: float) -> int:
        queued = self.queue.remove(job)  # a KeyError here is a start of what does not wait
        self.cluster.hold(job, queued.request.size)
        assert self.cluster.free >= 0, f"job {job} does not fit"
        self.running[job] = RunningJob(job, queued.request, now, now + queued.limit)
        self.started[job] = now
        return job

    def reserved(self, job: int) -> list[float]:
        """The start times that were promised to a job."""
        return [a.at for _, a in self.log if isinstance(a, Reserve) and a.job == job]


@dataclass(frozen=True, slots=True)
class Amdahl:
    """A run time: `serial` seconds, and `work` seconds divided among the units."""

    serial: float
    work: float

    def seconds(self, size: int) -> float:
        return self.serial + self.work / size


def waits(number: int, least: int, most: int = 0, **others: Any) -> QueuedJob:
    """A job that waits; malleable from `least` to `most` units, where `most` is given."""
    elastic = Elastic(least, most, others.pop("malleable", True)) if most else None
    settings = {"priority": 16, "submitted": 0.0, **others}
    return QueuedJob(id=number, request=Units(least), elastic=elastic, **settings)


def runs(number: int, size: int, least: int = 0, most: int = 0, **others: Any) -> RunningJob:
    """A job that runs on `size` units; malleable from `least` to `most` units, where these are given."""
    elastic = Elastic(least, most, others.pop("malleable", True)) if most else None
    settings = {"priority": 16, "started": -1000.0, "acted": -1000.0, **others}
    return RunningJob(id=number, request=Units(size), elastic=elastic, **settings)


def state(
    total: int,
    queued: Sequence[QueuedJob] = (),
    running: Sequence[RunningJob] = (),
    changes: Sequence[Change] = (),
) -> State:
    """A situation on a cluster that counts."""
    cluster = CountingCluster(total)
    for job in running:
        cluster.hold(job.id, 0 if job.host else job.size)
    return State(IndexedQueue(queued), RunningJobs(running), cluster, changes)


class Kit:
    """What tests build with."""

    Job = Job
    World = World
    Units = Units
    CountingCluster = CountingCluster
    Amdahl = Amdahl
    waits = staticmethod(waits)
    runs = staticmethod(runs)
    state = staticmethod(state)

    @staticmethod
    def answer(policy: Policy, given: State, now: float = 0.0) -> list[Action]:
        """What a policy answers, checked."""
        return list(decide(policy, given, now))

    @staticmethod
    def starts(
        policy: Policy,
        waiting: Sequence[Job],
        running: Sequence[Job] = (),
        total: int = 4,
        changes: Sequence[Change] = (),
    ) -> list[int]:
        """Which jobs a policy starts at time 0; `limit` of a running job is what is left of it."""
        records = [RunningJob(job.id, Units(job.size), -1.0, job.limit) for job in running]
        given = state(total, [job.queued() for job in waiting], records, changes)
        return [action.job for action in decide(policy, given, 0.0) if isinstance(action, Start)]


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


@pytest.fixture(scope="session")
def inf() -> float:
    return math.inf
