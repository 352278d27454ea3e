"""The policies on a cluster of nodes, where not every free core suits every job."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_config.formats.constraints import matches
from broker_config.formats.jobspec import RequestedResources
from broker_config.formats.resource_set import Node
from queue_policies import plugins
from queue_policies.decision import decide
from queue_policies.nodes.pool import Pool
from queue_policies.nodes.slots import slots_of
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Begun, GrowOrder, Misfit, ShrinkOrder, record
from queue_policies.orders.resizing import Resizing
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Change,
    Elastic,
    Happened,
    QueuedJob,
    RunningJob,
    Start,
    State,
    WakeAt,
)
from queue_policies.running import RunningJobs
from tests.budgets import examples

if TYPE_CHECKING:
    from collections.abc import Callable

NODES, CORES = 4, 4


def pool() -> Pool:
    """Four nodes of four cores, two of which have the property `big`."""
    big = [frozenset({"big"} if rank < 2 else ()) for rank in range(NODES)]
    nodes = [Node(rank, f"node{rank}", 2**CORES - 1, 0, big[rank]) for rank in range(NODES)]
    made = Pool(nodes, matches)
    for rank in range(NODES):
        made.mark(rank, up=True)
    return made


REQUESTS = (
    RequestedResources(0, 1, 1, 0),
    RequestedResources(0, 5, 1, 0),
    RequestedResources(0, 2, 3, 0),
    RequestedResources(2, 1, 2, 0),
    RequestedResources(2, 1, 1, 0, exclusive=True),
    RequestedResources(4, 1, 4, 0),
    RequestedResources(2, 1, 1, 0, constraint=("properties", "big")),
)
"""Cores anywhere, several together, on different nodes, whole nodes, all of them, and on some nodes only."""


@st.composite
def jobs(draw: st.DrawFn) -> list[tuple[float, float, QueuedJob]]:
    """Arrivals, run times and jobs."""
    found, arrival = [], 0.0
    for number in range(1, draw(st.integers(1, 15)) + 1):
        arrival += draw(st.integers(0, 4))
        limit = float(draw(st.integers(1, 20)))
        request, priority = draw(st.sampled_from(REQUESTS)), draw(st.integers(0, 31))
        runtime = float(draw(st.integers(1, int(limit))))
        found.append((arrival, runtime, QueuedJob(number, priority, request, arrival, limit)))
    return found


@pytest.mark.parametrize("name", sorted(plugins.policies()))
@given(jobs=jobs())
@settings(max_examples=examples(30))
def test_every_job_runs(name: str, jobs: Any) -> None:
    """A start for which there is no room on the nodes fails."""
    policy, cluster = plugins.load(name), pool()
    queue, running = IndexedQueue(), RunningJobs()
    runtimes = {job.id: runtime for _, runtime, job in jobs}
    events: list[tuple[float, int, Callable[[], Change]]] = []

    def arrives(job: QueuedJob) -> Change:
        queue.add(job)
        return Change(Happened.ARRIVED, job.id)

    def ends(job: int) -> Change:
        running.pop(job)
        cluster.release(job)
        return Change(Happened.ENDED, job)

    for number, (arrival, _, job) in enumerate(jobs):
        events.append((arrival, 1000 + number, lambda job=job: arrives(job)))
    heapq.heapify(events)
    started = []
    while events:
        now, changes = events[0][0], []
        while events and events[0][0] == now:
            changes.append(heapq.heappop(events)[2]())
        for action in decide(policy, State(queue, running, cluster, changes), now):
            if isinstance(action, Start):
                job = queue.remove(action.job)
                assert cluster.alloc(job.id, job.request) is not None, f"no room for {job}"
                running[job.id] = RunningJob(job.id, job.request, now, now + job.limit, acted=now)
                heapq.heappush(events, (now + runtimes[job.id], job.id, lambda job=job: ends(job.id)))
                started.append(job.id)
            elif isinstance(action, WakeAt):
                heapq.heappush(events, (action.time, 5000, lambda: Change(Happened.WOKEN)))
    assert sorted(started) == sorted(runtimes)


RESIZING = ["priority-elastic", "water-filling", "malleable", "min-agreement", "common-pool"]


class Obedient:
    """Programs that do at once what they are told; the highest places are given back."""

    def __init__(self, cluster: Pool, resizing: Resizing, running: RunningJobs) -> None:
        self.cluster, self.resizing, self.running = cluster, resizing, running
        self.answers: list[Callable[[], None]] = []

    def order(self, order: GrowOrder | ShrinkOrder) -> None:
        request: Any = self.running[order.job].request
        if isinstance(order, GrowOrder):
            lost, workers = [], request.workers + len(order.more)  # one a node
        else:
            lost = slots_of(self.cluster.allocation(order.job), request)[-order.workers :]
            workers = request.workers - order.workers
        self.answers.append(lambda: self.resizing.resized(order.job, workers, lost, 0.0, heeds=True))


@pytest.mark.parametrize("name", RESIZING)
def test_those_that_shrink_for_a_job_do_so_until_it_fits(name: str) -> None:
    """Two nodes are asked for, a core on each; the cores of one node are as many, and do not suit it."""
    policy, cluster = plugins.load(name, {"gap": 0.0}), pool()
    queue, running, changes = IndexedQueue(), RunningJobs(), list[Change]()
    started: list[int] = []

    def begin(job: QueuedJob, request: Any) -> None:
        running[job.id] = record(job, request, 0.0)._replace(heeds=True)
        started.append(job.id)

    resizing = Resizing(cluster, queue, running, changes.append)
    actions, programs = Actions(queue, running, resizing), Obedient(cluster, resizing, running)
    wide = RequestedResources(1, 1, CORES, 0, exclusive=True)
    large = QueuedJob(1, 16, wide, 0.0, math.inf, elastic=Elastic(CORES, NODES * CORES, malleable=True))
    whole = wide.with_workers(NODES)
    assert cluster.alloc(1, whole) is not None
    begin(large, whole)
    queue.add(QueuedJob(2, 20, RequestedResources(2, 1, 1, 0), 0.0, 100.0))
    changes.append(Change(Happened.ARRIVED, 2))
    orders = 0
    for _ in range(40):
        changed, changes[:] = list(changes), []
        for ready in resizing.ready(0.0):
            begin(ready.queued, ready.request)
        for action in decide(policy, State(queue, running, cluster, changed), 0.0):
            deed = actions.apply(action, 0.0)
            assert not isinstance(deed, Misfit)
            if isinstance(deed, Begun):
                begin(deed.queued, deed.request)
            elif deed is not None:
                programs.order(deed)
        orders += len(programs.answers)
        answers, programs.answers = programs.answers, []
        for answer in answers:
            answer()
        if not changes:
            break
    assert started == [1, 2]
    assert orders <= NODES
