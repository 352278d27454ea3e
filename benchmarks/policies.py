"""Decisions a second of each queue policy with many jobs queued, and how that changes with their number.

python benchmarks/policies.py [--nodes 640] [--policy NAME ...]

A full cluster and a queue of jobs of many sizes and time limits, half of them malleable. Then, again and
again, a running job ends and another arrives: one decision each. The keeping of the queue and of the running
jobs, which makes decisions quick, is part of the time.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines import report

from queue_policies import plugins
from queue_policies.counting import CountingCluster, Units
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    Elastic,
    Grow,
    Happened,
    QueuedJob,
    RunningJob,
    Shrink,
    Start,
    State,
)
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.policy import Policy

QUEUED = (1_000, 15_000, 100_000)
SECONDS = 2.0
DECISIONS = 2_000


@dataclass(frozen=True, slots=True)
class Program:
    """A run time by Amdahl's law."""

    work: float

    def seconds(self, size: int) -> float:
        """From start to end."""
        return self.work * (0.02 + 0.98 / size)


class Bench:
    """A queue and a cluster, and random events."""

    def __init__(self, policy: Policy, nodes: int, queued: int) -> None:
        self.policy = policy
        self.nodes = nodes
        self.now = 0.0
        self.random = random.Random(1)
        self.cluster = CountingCluster(nodes)
        self.running = RunningJobs()
        self.number = 0
        while self.cluster.free:
            job = self._job(most=self.cluster.free)
            self._start(job, job.request.size)
        self.queue = IndexedQueue(self._job() for _ in range(queued))
        self._decide([])

    def rounds(self) -> float:
        """Decisions a second."""
        begin, done = time.perf_counter(), 0
        while done < DECISIONS and time.perf_counter() - begin < SECONDS:
            self.now += self.random.expovariate(1 / 30)
            ended = self.random.choice(list(self.running))
            self.running.pop(ended)
            self.cluster.release(ended)
            self._decide([Change(Happened.ENDED, ended)])
            arrived = self._job()
            self.queue.add(arrived)
            self._decide([Change(Happened.ARRIVED, arrived.id)])
            done += 2
        return done / (time.perf_counter() - begin)

    def _job(self, most: int = 16) -> QueuedJob:
        self.number += 1
        size = min(most, round(2 ** self.random.uniform(0, 4)))
        elastic = Elastic(size, 4 * size, malleable=True) if self.random.random() < 0.5 else None
        limit = self.random.uniform(600, 86_400)
        return QueuedJob(
            self.number,
            self.random.randint(1, 5),
            Units(size),
            self.now,
            limit,
            0,
            elastic,
            Program(limit * size * 0.5),
        )

    def _decide(self, changes: Sequence[Change]) -> None:
        state = State(self.queue, self.running, self.cluster, changes)
        for action in self.policy.decide(state, self.now):
            if isinstance(action, Start):
                job = self.queue.remove(action.job)
                self._start(job, action.size or job.request.size)
            elif isinstance(action, Grow | Shrink):
                running = self.running[action.job]
                self.running[action.job] = running._replace(request=Units(action.size), acted=self.now)
                self.cluster.hold(action.job, action.size)

    def _start(self, job: QueuedJob, size: int) -> None:
        self.cluster.hold(job.id, size)
        self.running[job.id] = RunningJob(
            job.id,
            Units(size),
            self.now,
            self.now + job.limit,
            job.elastic,
            job.priority,
            acted=self.now,
            remaining=1.0,
            measured=self.now,
            estimate=job.estimate,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=640)
    parser.add_argument("--policy", action="append", choices=sorted(plugins.policies()))
    options = parser.parse_args()
    names = options.policy or sorted(plugins.policies())

    def rate(name: str, queued: int) -> float:
        return round(Bench(plugins.load(name), options.nodes, queued).rounds())

    results = {name: {str(queued): rate(name, queued) for queued in QUEUED} for name in names}
    report("decisions by number of queued jobs", "1/s", {"nodes": options.nodes, **results})


if __name__ == "__main__":
    main()
