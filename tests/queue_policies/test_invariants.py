"""What holds for every registered policy, whatever jobs come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_policies import plugins
from queue_policies.easy import Easy
from queue_policies.policy import Policy

TOTAL = 8
POLICIES = sorted(plugins.policies())


@st.composite
def workloads(draw: st.DrawFn, priorities: bool = True) -> list[dict[str, Any]]:
    """Jobs in the order of their ids and arrivals; run times up to their limits."""
    jobs, arrival = [], 0.0
    for number in range(1, draw(st.integers(1, 25)) + 1):
        arrival += draw(st.integers(0, 5))
        limit = draw(st.integers(1, 20))
        jobs.append(
            {
                "id": number,
                "size": draw(st.integers(1, TOTAL)),
                "arrival": arrival,
                "limit": float(limit),
                "runtime": float(draw(st.integers(1, limit))),
                "priority": draw(st.integers(1, 31)) if priorities else 16,
            }
        )
    return jobs


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_what_the_protocol_says(name: str) -> None:
    policy = plugins.load(name)
    assert isinstance(policy, Policy)
    assert (policy.name, policy) == (name, plugins.load(name)), "and equal settings make equal policies"


@pytest.mark.parametrize("name", POLICIES)
@given(workload=workloads())
def test_every_job_runs_once_within_capacity(kit: Any, name: str, workload: list[dict[str, Any]]) -> None:
    """The world fails on a start over capacity, of a job that runs, or of one that is not there."""
    world = kit.World(plugins.load(name), TOTAL).run([kit.Job(**job) for job in workload])
    assert sorted(world.started) == [job["id"] for job in workload]


@pytest.mark.parametrize("name", POLICIES)
@given(workload=workloads())
def test_the_same_input_gives_the_same_actions(kit: Any, name: str, workload: list[dict[str, Any]]) -> None:
    jobs = [kit.Job(**job) for job in workload]
    logs = [kit.World(plugins.load(name), TOTAL).run(jobs).log for _ in range(2)]
    assert logs[0] == logs[1]


@given(workload=workloads(priorities=False))
def test_easy_keeps_what_it_reserved(kit: Any, workload: list[dict[str, Any]]) -> None:
    """The bound on starvation: a head starts no later than the first time promised to it."""
    world = kit.World(Easy(), TOTAL).run([kit.Job(**job) for job in workload])
    for job in workload:
        promised = world.reserved(job["id"])
        assert not promised or world.started[job["id"]] <= promised[0]


@given(workload=workloads(priorities=False))
def test_fcfs_never_lets_one_overtake(kit: Any, workload: list[dict[str, Any]]) -> None:
    world = kit.World(plugins.load("fcfs"), TOTAL).run([kit.Job(**job) for job in workload])
    starts = [world.started[job["id"]] for job in workload]
    assert starts == sorted(starts)
