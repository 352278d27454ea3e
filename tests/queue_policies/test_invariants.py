"""What holds for every registered policy, whatever jobs come and whatever goes wrong."""

from __future__ import annotations

import dataclasses
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queue_policies import plugins
from queue_policies.policy import Policy
from queue_policies.records import Grow, Reserve, Shrink
from queue_policies.simulator.cost import Cost, PerUnit, Relaunch
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.speedup import Amdahl
from queue_policies.simulator.workload import Workload
from tests.budgets import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.records import Action, State
    from queue_policies.simulator.outcome import RunOutcome

pytestmark = pytest.mark.usefixtures("unmeasured")

TOTAL = 8
POLICIES = sorted(plugins.policies())
COSTS = (
    Cost(),
    Relaunch(base=1.0, unit=0.25),
    PerUnit(grow=2.0, shrink=1.0, release=1.0, registration=3.0),
    PerUnit(grow=2.0, shrink=1.0, blocking=True),
)
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "conservative": ({"depth": 2},),
    "easy": ({"extra": False},),
    "priority-elastic": ({"gap": 0.0}, {"gap": 5.0}, {"gap": 5.0, "launcher": 1}),
    "water-filling": (
        {"gap": 0.0, "payoff": 0.0},
        {"gap": 5.0, "overhead": 1.0, "overtake": False},
        {"objective": "makespan", "donors": "behind", "gap": 5.0},
        {"objective": "order", "gap": 5.0},
    ),
    "common-pool": ({"gap": 0.0, "payoff": 0.0}, {"gap": 5.0, "overhead": 0.5, "least": True}),
    "malleable": ({"gap": 0.0}, {"gap": 5.0, "extra": True}),
    "min-agreement": ({"gap": 5.0},),
}
VARIANTS = [
    pytest.param(name, each, id=f"{name} {each or ''}".strip())
    for name in POLICIES
    for each in ({}, *SETTINGS.get(name, ()))
]


@st.composite
def workloads(draw: st.DrawFn, priorities: bool = True, limited: bool = False) -> Workload:
    """Jobs of all kinds in the order of their ids and arrivals."""
    jobs, arrival = [], 0.0
    for number in range(1, draw(st.integers(1, 15)) + 1):
        arrival += draw(st.integers(0, 5))
        least = draw(st.integers(1, TOTAL))
        time = Amdahl(float(draw(st.integers(1, 60))), 0.9)
        limit = draw(st.sampled_from((1.0, 1.5, 3.0, *(() if limited else (math.inf,)))))
        jobs.append(
            WorkloadJob(
                id=number,
                submitted=arrival,
                min=least,
                max=draw(st.integers(least, TOTAL + 2)),
                time=time,
                limit=limit * time.seconds(least) + 1e-3,
                priority=draw(st.integers(0, 31)) if priorities else 16,
                malleable=draw(st.booleans()),
            )
        )
    return Workload("drawn", tuple(jobs), TOTAL, cost=draw(st.sampled_from(COSTS)))


def options() -> st.SearchStrategy[SimulationOptions]:
    """Estimates that are true, wrong or absent; programs that refuse some orders or none."""
    estimates = st.sampled_from((Estimates(), Estimates(error=0.5), Estimates(known=False)))
    return st.builds(
        SimulationOptions, estimates=estimates, refusals=st.sampled_from((0.0, 0.3)), seed=st.integers(0, 9)
    )


class Log:
    """Watches every decision. That none is over capacity or out of range is checked by `decision`."""

    def __init__(self, policy: Policy) -> None:
        self.gap = getattr(policy, "gap", 0.0)
        self.decisions: list[tuple[float, list[Action]]] = []
        self.promised: dict[int, float] = {}

    def __call__(self, state: State, now: float, actions: Sequence[Action]) -> None:
        self.decisions.append((now, list(actions)))
        for action in actions:
            if isinstance(action, Grow | Shrink):
                job = state.running[action.job]
                assert now >= job.acted + self.gap, f"job {job.id} is resized within the gap"
            elif isinstance(action, Reserve):
                self.promised.setdefault(action.job, action.at)


def run(policy: Policy, workload: Workload, given: SimulationOptions | None = None) -> tuple[RunOutcome, Log]:
    log = Log(policy)
    return simulate(workload, policy, given, log), log


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_follows_the_protocol(name: str) -> None:
    policy = plugins.load(name)
    assert isinstance(policy, Policy)
    assert (policy.name, policy) == (name, plugins.load(name)), "and equal settings make equal policies"


@pytest.mark.parametrize("name", POLICIES)
def test_each_setting_is_documented_in_a_line(name: str) -> None:
    for field in dataclasses.fields(plugins.policies()[name]):  # type: ignore[arg-type]
        assert 10 < len(field.metadata["doc"]) < 90, field.name


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_names_its_source_and_its_bound(name: str) -> None:
    text = " ".join((import_module(plugins.policies()[name].__module__).__doc__ or "").split())
    assert "Source: " in text
    assert "on starvation" in text


@pytest.mark.parametrize(("name", "values"), VARIANTS)
@given(workload=workloads(), given_=options())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(30))
def test_every_job_ends_within_capacity_and_range(
    name: str, values: dict[str, Any], workload: Workload, given_: SimulationOptions
) -> None:
    """And nothing is resized within the gap. `decision` fails on what is over capacity or out of range."""
    outcome, _ = run(plugins.load(name, values), workload, given_)
    assert [job.id for job in outcome.jobs] == [job.id for job in workload.jobs]
    for job, end in zip(workload.jobs, outcome.jobs, strict=True):
        assert end.ended >= end.started >= job.submitted
        sizes = [size for _, size in end.sizes if size]
        assert all(job.min <= size <= job.max for size in sizes)
        assert len(end.sizes) - len(sizes) == 1 + end.preemptions, "it stops once more than it is preempted"


@pytest.mark.parametrize("name", POLICIES)
@given(workload=workloads(), given_=options())
@settings(max_examples=examples(20))
def test_the_same_input_gives_the_same_actions(
    name: str, workload: Workload, given_: SimulationOptions
) -> None:
    first, second = (run(plugins.load(name), workload, given_)[1] for _ in range(2))
    assert first.decisions == second.decisions


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("easy", {}, id="easy"),
        pytest.param("easy", {"extra": False}, id="easy, short jobs only"),
        pytest.param("common-pool", {"gap": 5.0, "overhead": 1.0}, id="common-pool"),
        pytest.param("conservative", {"depth": 1}, id="conservative, with one reservation"),
    ],
)
@given(workload=workloads(priorities=False, limited=True))
def test_no_head_starts_later_than_was_first_promised(
    name: str, values: dict[str, Any], workload: Workload
) -> None:
    """The bound on starvation. Units return at once here: nobody plans with a lag."""
    workload = dataclasses.replace(workload, cost=Cost())
    outcome, log = run(plugins.load(name, values), workload)
    for job in outcome.jobs:
        assert job.started <= log.promised.get(job.id, math.inf) + 1e-9


@pytest.mark.parametrize(
    ("name", "values"),
    [
        pytest.param("fcfs", {}, id="fcfs"),
        pytest.param("water-filling", {"overtake": False}, id="water-filling"),
    ],
)
@given(workload=workloads(priorities=False))
def test_nothing_overtakes(name: str, values: dict[str, Any], workload: Workload) -> None:
    outcome, _ = run(plugins.load(name, values), dataclasses.replace(workload, cost=Cost()))
    starts = [job.started for job in outcome.jobs]
    assert starts == sorted(starts)
