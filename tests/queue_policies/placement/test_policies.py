"""Every queue policy with every placement: whatever can run does, and what a policy starts has room."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_policies import plugins
from queue_policies.decision import decide
from queue_policies.nodes.feasibility import infeasible
from queue_policies.orders.actions import Actions
from queue_policies.orders.records import Begun, GrowOrder, Misfit, ShrinkOrder
from queue_policies.orders.resizing import Resizing
from queue_policies.placement.builtin import CLASSES
from queue_policies.placement.plugins import load
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Elastic, Happened, QueuedJob, State, WakeAt
from queue_policies.running import RunningJobs
from tests.budgets import examples
from tests.queue_policies.placement.clusters import node, pool
from tests.queue_policies.placement.test_placements import requests

if TYPE_CHECKING:
    from queue_policies.nodes.pool import Pool
    from queue_policies.policy import Policy

NODES = [node(0, (4, 4)), node(1, (4, 4)), node(2, (3, 2, 3), 2)]


@st.composite
def jobs(draw: st.DrawFn) -> list[tuple[float, QueuedJob]]:
    """Run times and jobs, some of them elastic, in the order in which they arrive."""
    found, arrival = [], 0.0
    for number in range(1, draw(st.integers(1, 8)) + 1):
        arrival += draw(st.integers(0, 4))
        request, limit = draw(requests()), float(draw(st.integers(1, 20)))
        elastic = None
        if request.gpus == 0 and not request.exclusive and draw(st.booleans()):
            most = request.size * draw(st.integers(1, 3))
            elastic = Elastic(request.size, most, draw(st.booleans()))
            if request.shape is not None:
                request = request._replace(shape=request.shape._replace(workers=0))
        priority = draw(st.integers(0, 31))
        job = QueuedJob(number, priority, request, arrival, limit, elastic=elastic)
        found.append((float(draw(st.integers(1, int(limit)))), job))
    return found


class World:
    """Jobs that arrive, run and end; programs accept no orders, so that malleable jobs keep their sizes."""

    def __init__(self, policy: Policy, cluster: Pool) -> None:
        self.policy, self.cluster = policy, cluster
        self.queue, self.running = IndexedQueue(), RunningJobs()
        self.changes: list[Change] = []
        resizing = Resizing(cluster, self.queue, self.running, self.changes.append)
        self.actions = Actions(self.queue, self.running, resizing)
        self.events: list[tuple[float, int, Any]] = []
        self.runtimes: dict[int, float] = {}
        self.begun: list[int] = []

    def run(self, jobs: list[tuple[float, QueuedJob]]) -> None:
        for runtime, job in jobs:
            self.runtimes[job.id] = runtime
            heapq.heappush(self.events, (job.submitted, 1000 + job.id, job))
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                self._happen(heapq.heappop(self.events)[2])
            changes, self.changes[:] = list(self.changes), []
            for action in decide(self.policy, State(self.queue, self.running, self.cluster, changes), now):
                if isinstance(action, WakeAt):
                    heapq.heappush(self.events, (action.time, 5000, None))
                else:
                    self._apply(action, now)

    def _happen(self, event: QueuedJob | int | None) -> None:
        if isinstance(event, QueuedJob):
            self.queue.add(event)
            self.changes.append(Change(Happened.ARRIVED, event.id))
        elif event is None:
            self.changes.append(Change(Happened.WOKEN))
        else:
            self.running.pop(event)
            self.cluster.release(event)
            self.changes.append(Change(Happened.ENDED, event))

    def _apply(self, action: Any, now: float) -> None:
        deed = self.actions.apply(action, now)
        assert not isinstance(deed, Misfit | GrowOrder | ShrinkOrder), deed
        if isinstance(deed, Begun):
            self.begun.append(deed.queued.id)
            heapq.heappush(self.events, (now + self.runtimes[deed.queued.id], deed.queued.id, deed.queued.id))


def _fits_ever(cluster: Pool, job: QueuedJob) -> bool:
    """Whether the job can run, an elastic one also at its largest size."""
    request: Any = job.request
    sizes = [request] if job.elastic is None else [request, request.sized(job.elastic.max)]
    return all(infeasible(cluster, each) is None for each in sizes)


@pytest.mark.parametrize("placement", CLASSES)
@given(
    policy=st.sampled_from(sorted(plugins.policies())),
    affinity=st.sampled_from(["none", "best-effort", "required"]),
    jobs=jobs(),
)
@settings(max_examples=examples(20), deadline=None)
def test_what_can_run_does(placement: str, policy: str, affinity: str, jobs: Any) -> None:
    cluster = pool(load(placement, {"affinity": affinity}), NODES)
    possible = [(runtime, job) for runtime, job in jobs if _fits_ever(cluster, job)]
    world = World(plugins.load(policy), cluster)
    world.run(possible)
    assert sorted(world.begun) == [job.id for _, job in possible]
