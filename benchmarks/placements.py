"""Decisions a second on nodes: policies with `low-rank`, beside an earlier revision, and with `balanced`.

python benchmarks/placements.py [--before CHECKOUT] [--pairs N] [--queued N]

640 nodes of two NUMA domains with 32 cores each, all in use; jobs of many sizes and profiles are queued.
Again and again a running job ends and another arrives: one decision each. With --before, the directory of
another revision of this project, `fcfs`, `easy` and `backfill` are measured there as well, in turn. Seconds
are those of the processor. Ends with 1 where the median of these pairs is below 0.97, or `balanced` takes
fewer than 1,000 decisions a second with one of them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node
from queue_policies import plugins
from queue_policies.nodes.pool import Pool
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Begun
from queue_policies.orders.resizing import Resizing
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Happened, QueuedJob, State
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Sequence

NODES, DOMAINS, CORES = 640, 2, 32
POLICIES = ("fcfs", "easy", "backfill")
SECONDS = 2.0
DECISIONS = 4_000
LEAST_PAIR, LEAST_BALANCED = 0.97, 1000.0
KINDS = ("cpu", "memory", "network", "io", "")


def nodes(domains: bool) -> list[Any]:
    """Return the nodes; without domains where the revision does not know them."""
    whole = (1 << DOMAINS * CORES) - 1
    made = [Node(rank, f"node{rank}", whole) for rank in range(NODES)]
    if not domains:
        return made
    parts = tuple(((1 << CORES) - 1) << number * CORES for number in range(DOMAINS))
    return [node._replace(domains=parts) for node in made]


class PlacementBench:
    """A queue, a pool, and random events."""

    def __init__(self, policy: str, placement: str, queued: int) -> None:
        self.policy = plugins.load(policy)
        self.now = 0.0
        self.random = random.Random(1)
        self.pool = Pool(nodes(domains=bool(placement)), matches, *_loaded(placement))
        for rank in range(NODES):
            self.pool.mark(rank, up=True)
        self.placement = placement
        self.queue, self.running = IndexedQueue(), RunningJobs()
        self.changes: list[Change] = []
        resizing = Resizing(self.pool, self.queue, self.running, self.changes.append)
        self.actions = Actions(self.queue, self.running, resizing)
        self.number = 0
        for _ in range(queued):
            self._arrive()
        self._decide()
        while len(self.queue) < queued:
            self._arrive()
        self._decide()

    def rate(self) -> float:
        """Return the decisions a second."""
        begin, done, seconds = time.process_time(), 0, 0.0
        while done < DECISIONS and seconds < SECONDS:
            self.now += self.random.expovariate(1 / 30)
            ended = self.random.choice(list(self.running))
            self.running.pop(ended)
            self.pool.release(ended)
            self.changes.append(Change(Happened.ENDED, ended))
            self._decide()
            self._arrive()
            self._decide()
            done += 2
            if done % 100 == 0:  # the clock takes milliseconds on some machines
                seconds = time.process_time() - begin
        return done / (time.process_time() - begin)

    def _arrive(self) -> None:
        self.number += 1
        size = round(2 ** self.random.uniform(0, 5))
        limit = self.random.uniform(600, 86_400)
        request = RequestedResources(0, size, 1, 0, *self._shape())
        job = QueuedJob(self.number, self.random.randint(1, 5), request, self.now, limit)
        self.queue.add(job)
        self.changes.append(Change(Happened.ARRIVED, job.id))

    def _shape(self) -> tuple[Any, ...]:
        kind = self.random.choice(KINDS)
        if not self.placement or not kind:
            return ()
        from queue_policies.placement.records import (  # noqa: PLC0415 - not in an earlier revision
            Profile,
            ProfileKind,
            TaskShape,
        )

        return (False, None, TaskShape(Profile(ProfileKind(kind))))

    def _decide(self) -> None:
        changes = tuple(self.changes)
        self.changes.clear()
        state = State(self.queue, self.running, self.pool, changes)
        for action in self.policy.decide(state, self.now):
            deed = self.actions.apply(action, self.now)
            if not (deed is None or isinstance(deed, Begun)):
                raise SystemExit(f"{action} came to {deed}")


def _loaded(placement: str) -> tuple[Any, ...]:
    if not placement:
        return ()
    from queue_policies.placement.plugins import load  # noqa: PLC0415 - not in an earlier revision

    return (load(placement),)


def measured(checkout: str, policy: str, placement: str, queued: int) -> float:
    """Measure in a process of its own, by the code of a checkout; empty: this one."""
    command = [sys.executable, __file__, "--once", policy, "--placement", placement, "--queued", str(queued)]
    environment = os.environ | ({"PYTHONPATH": checkout} if checkout else {})
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def pairs(before: str, count: int, queued: int) -> dict[str, Any]:
    """Return for each policy the median rates before and now, and the median of now / before."""
    found = {}
    for policy in POLICIES:
        rates = [
            (measured(before, policy, "", queued), measured("", policy, "", queued)) for _ in range(count)
        ]
        found[policy] = {
            "before": round(statistics.median(old for old, _ in rates)),
            "now": round(statistics.median(new for _, new in rates)),
            "now / before": round(statistics.median(new / old for old, new in rates), 3),
        }
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="", help="the directory of another revision")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--queued", type=int, default=15_000)
    parser.add_argument("--once", help="measure this policy, and print its rate")
    parser.add_argument("--placement", default="")
    options = parser.parse_args(words)
    if options.once:
        print(PlacementBench(options.once, options.placement, options.queued).rate())
        return 0
    balanced = {policy: round(measured("", policy, "balanced", options.queued)) for policy in POLICIES}
    low_rank = pairs(options.before, options.pairs, options.queued) if options.before else {}
    slower = [policy for policy, found in low_rank.items() if found["now / before"] < LEAST_PAIR]
    slow = [policy for policy, rate in balanced.items() if rate < LEAST_BALANCED]
    missed = [f"low-rank with {each} is slower than before" for each in slower]
    missed += [f"balanced with {each} takes fewer than {LEAST_BALANCED:g} decisions/s" for each in slow]
    print(
        json.dumps(
            {
                "benchmark": "placements",
                "nodes": NODES,
                "domains": DOMAINS,
                "cores": CORES,
                "queued": options.queued,
                "balanced": balanced,
                "low-rank": low_rank,
                "missed": missed,
            }
        )
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
