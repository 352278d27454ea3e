"""The policies on a cluster of nodes, where not every free core suits every job."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minicluster.embedded.jobspec import Resources
from minicluster.embedded.pool import Pool
from queue_policies import plugins
from queue_policies.decision import decide
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Happened, QueuedJob, RunningJob, Start, State, WakeAt
from queue_policies.running import RunningJobs

if TYPE_CHECKING:
    from collections.abc import Callable

NODES, CORES = 4, 4


def pool() -> Pool:
    """Four nodes of four cores, two of which have the property `big`."""
    made = Pool(
        {
            "version": 1,
            "execution": {
                "R_lite": [{"rank": f"0-{NODES - 1}", "children": {"core": f"0-{CORES - 1}"}}],
                "nodelist": [f"node[0-{NODES - 1}]"],
                "properties": {"big": "0-1"},
                "starttime": 0.0,
                "expiration": 0.0,
            },
        }
    )
    for rank in range(NODES):
        made.set_up(rank, True)
    return made


REQUESTS = (
    Resources(0, 1, 1, 0),
    Resources(0, 5, 1, 0),
    Resources(0, 2, 3, 0),
    Resources(2, 1, 2, 0),
    Resources(2, 1, 1, 0, exclusive=True),
    Resources(4, 1, 4, 0),
    Resources(2, 1, 1, 0, constraint=("properties", "big")),
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
@settings(deadline=None, max_examples=30)
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
