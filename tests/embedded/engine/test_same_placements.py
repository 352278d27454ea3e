"""The simulator and the embedded instance give the same cores to the same arrivals, by every placement."""

from __future__ import annotations

import heapq
import random
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats.resource_set import allocation_of
from queue_policies import plugins
from queue_policies.placement import plugins as placements
from queue_policies.placement.attributes import shape_of
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.node_cluster import alike
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

    from queue_policies.nodes.records import Allocation

JSON = dict[str, Any]
NODES, DOMAINS, CORES = 4, 2, 8
JOBS = 60
PLACEMENTS: dict[str, JSON] = {
    "low-rank": {"affinity": "best-effort"},
    "spread": {},
    "pack": {"affinity": "required"},
    "random": {"seed": 3},
    "task-group": {},
    "balanced": {},
}


def arrivals() -> list[tuple[WorkloadJob, JSON]]:
    """Jobs of many sizes, and the attributes that tell what they are like; the queue is seldom empty."""
    stream = random.Random(21)
    found = []
    for number in range(JOBS):
        slots = stream.choice((1, 2, 3, 4, 8, 16))
        user: JSON = {}
        if stream.random() < 0.8:
            user["profile"] = stream.choice(("cpu", "memory", "network", "io"))
        if stream.random() < 0.5:
            user["workers"] = max(slots // 4, stream.choice((1, 2, 4)))
        time = Fixed(stream.uniform(40, 400))
        shape = shape_of(user, slots, slots)
        found.append((WorkloadJob(number + 1, number * 7.3, slots, slots, time, shape=shape), user))
    return found


def of_simulator(name: str, settings: JSON) -> list[Allocation]:
    """Return the cores of each job, in the order of submission."""
    jobs = tuple(job for job, _ in arrivals())
    nodes, placement = alike(NODES, DOMAINS, CORES), placements.load(name, settings)
    workload = Workload("arrivals", jobs, NODES * DOMAINS * CORES, "cores", nodes=nodes, placement=placement)
    outcome = simulate(workload, plugins.load("backfill"))
    return [each[0][1] for each in outcome.allocations]


def of_instance(make: Any, directory: Path, kit: Any, name: str, settings: JSON) -> list[Allocation]:
    """The same of an instance whose jobs end when they would in the simulation."""
    table = {"queue-policy": "backfill", "placement": name, "placement-settings": settings}
    bench = make(directory, NODES, DOMAINS * CORES, config={"minicluster": table | {"domains": "0-7;8-15"}})
    seconds: dict[int, float] = {}
    events: list[tuple[float, int, int]] = []  # an end is before an arrival
    for index, (job, _) in enumerate(arrivals()):
        heapq.heappush(events, (job.submitted, 1, index))
    start, ids, launched = bench.loop.now, [], 0
    while events:
        at, is_arrival, which = heapq.heappop(events)
        bench.loop.advance(start + at - bench.loop.now)
        if is_arrival:
            job, user = arrivals()[which]
            spec = kit.jobspec(slots=job.min)
            spec["attributes"]["user"] = user
            answer = bench.call("job-ingest.submit", jobspec=spec, urgency=16, flags=0)
            ids.append(answer["id"])
            seconds[answer["id"]] = job.time.seconds(job.min)
        else:
            bench.finish(which)
        for launch in bench.executor.launches[launched:]:
            heapq.heappush(events, (at + seconds[launch.id], 0, launch.id))
        launched = len(bench.executor.launches)
    resources = {launch.id: launch.R for launch in bench.executor.launches}
    return [allocation_of(resources[each]) for each in ids]


@pytest.mark.parametrize("name", PLACEMENTS)
def test_the_same_cores(kit: Any, tmp_path: Path, name: str) -> None:
    expected = of_simulator(name, PLACEMENTS[name])
    assert of_instance(kit.Bench, tmp_path, kit, name, PLACEMENTS[name]) == expected
    assert len(expected) == JOBS


def test_every_placement_is_compared() -> None:
    assert set(PLACEMENTS) == set(placements.registry().classes)
