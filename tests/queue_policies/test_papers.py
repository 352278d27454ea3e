"""What is claimed of the policies on the papers' own workloads: figures that agree, and what beats what."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.simulator import metrics
from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.workloads import apgas, charm

pytestmark = pytest.mark.usefixtures("unmeasured")

SETS = 100


@functools.cache
def stencils(name: str, gap: int, error: float = 0.0) -> dict[str, float]:
    """Means over 100 sets of the elastic scheduler's paper, submitted every `gap` seconds."""
    policy = plugins.load(name)
    option_sets = [SimulationOptions(Estimates(error=error, seed=number)) for number in range(SETS)]
    sets = zip(charm.draws(SETS), option_sets, strict=True)
    outcomes = (simulate(charm.workload(drawn, gap=gap), policy, each) for drawn, each in sets)
    return metrics.mean([metrics.measure(outcome) for outcome in outcomes])


@functools.cache
def programs(name: str, fraction: float, settings: tuple[tuple[str, Any], ...] = ()) -> dict[str, float]:
    """Means over the ten sets of the malleable schedulers' paper."""
    policy = plugins.load(name, dict(settings))
    outcomes = (simulate(apgas.workload(seed, fraction), policy) for seed in apgas.SEEDS)
    return metrics.mean([metrics.measure(outcome) for outcome in outcomes])


@pytest.mark.parametrize(
    ("name", "gap", "expected"),
    [
        pytest.param("priority-elastic", 90, {"makespan": 3682, "utilization": 0.939}, id="elastic, 90 s"),
        pytest.param("priority-elastic", 180, {"makespan": 3970}, id="elastic, 180 s"),
        pytest.param("moldable", 90, {"makespan": 3889}, id="moldable, 90 s"),
        pytest.param("rigid-min", 90, {"makespan": 3797}, id="min, 90 s"),
        pytest.param("rigid-max", 90, {"makespan": 5187}, id="max, 90 s"),
    ],
)
def test_the_elastic_schedulers_variants_agree(name: str, gap: int, expected: dict[str, float]) -> None:
    """Within 2 % of a clean re-run."""
    for metric, value in expected.items():
        assert stencils(name, gap)[metric] == pytest.approx(value, rel=0.02)


@pytest.mark.parametrize(("gap", "response", "completion"), [(90, 472, 999), (180, 202, 693)])
def test_the_elastic_schedulers_response_agrees(gap: int, response: float, completion: float) -> None:
    """Within 20 %: the order of equals decides much."""
    found = stencils("priority-elastic", gap)
    assert found["weighted_wait"] == pytest.approx(response, rel=0.2)
    assert found["weighted_turnaround"] == pytest.approx(completion, rel=0.2)


@pytest.mark.parametrize("gap", range(0, 181, 30))
def test_water_filling_beats_priority_elastic(gap: int) -> None:
    """On the total and on the weighted response, at every submission gap."""
    ours, theirs = stencils("water-filling", gap), stencils("priority-elastic", gap)
    assert ours["makespan"] < theirs["makespan"]
    assert ours["weighted_wait"] < theirs["weighted_wait"]


@pytest.mark.parametrize("error", [0.2, 0.5])
def test_water_filling_does_so_with_wrong_estimates(error: float) -> None:
    ours, theirs = stencils("water-filling", 90, error), stencils("priority-elastic", 90)
    assert ours["makespan"] < theirs["makespan"]
    assert ours["weighted_wait"] < theirs["weighted_wait"]


PUBLISHED = (("extra", False),)


@pytest.mark.parametrize(
    ("name", "settings", "rigid", "elastic", "within"),
    [
        pytest.param("fcfs", (), 1157.46, 1021.69, 0.03, id="fcfs"),
        pytest.param("backfill", (), 1035.24, 1005.20, 0.03, id="backfilling"),
        pytest.param("easy", PUBLISHED, 1171.95, 1014.40, 0.03, id="easy"),
        pytest.param("malleable", (), 1168.00, 1006.14, 0.07, id="malleable"),
    ],
)
def test_the_makespans_of_the_malleable_schedulers_agree(
    name: str, settings: Any, rigid: float, elastic: float, within: float
) -> None:
    """With no malleable job and with only such."""
    assert programs(name, 0.0, settings)["makespan"] == pytest.approx(rigid, rel=within)
    assert programs(name, 1.0, settings)["makespan"] == pytest.approx(elastic, rel=within)


def test_where_all_declare_the_same_time_published_easy_is_fcfs() -> None:
    for fraction in (0.0, 1.0):
        assert programs("easy", fraction, PUBLISHED) == programs("fcfs", fraction)


def test_true_easy_is_better_than_published() -> None:
    true, published = programs("easy", 0.0), programs("easy", 0.0, PUBLISHED)
    assert true["makespan"] < published["makespan"]
    assert true["turnaround"] < published["turnaround"]


@pytest.mark.parametrize("fraction", [0.2, 0.6, 1.0])
def test_common_pool_beats_malleable(fraction: float) -> None:
    ours, theirs = programs("common-pool", fraction), programs("malleable", fraction)
    for metric in ("makespan", "turnaround", "wait"):
        assert ours[metric] < theirs[metric]
