"""Many simulations at once, and the words by which they are asked for."""

from __future__ import annotations

from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.errors import PolicySettings, UnknownPolicy
from queue_policies.simulator import experiment
from queue_policies.simulator.errors import SimulationError, WorkloadError
from queue_policies.simulator.experiment import Experiment
from queue_policies.simulator.selection import choices, policy_named, row
from queue_policies.simulator.spread import spread

PLAN = Experiment("charm:gap=30", ("rigid-min", "priority-elastic:gap=60"), (0, 1, 2))


def test_runs_come_by_policy_then_seed_whatever_process_ended_first() -> None:
    reported: list[tuple[int, int]] = []
    parallel = experiment.run(PLAN, 2, lambda done, total: reported.append((done, total)))
    assert [(run.policy, run.seed) for run in parallel] == [
        (policy, seed) for policy in PLAN.policies for seed in PLAN.seeds
    ]
    assert parallel == experiment.run(PLAN, 1), "and are what one process finds"
    assert reported == [(number, 6) for number in range(1, 7)]


def test_means_are_by_policy() -> None:
    runs = experiment.run(PLAN, 1)
    means = experiment.means(runs)
    assert tuple(means) == PLAN.policies
    assert means["rigid-min"]["makespan"] == pytest.approx(sum(run.metrics.makespan for run in runs[:3]) / 3)


def test_spreads_are_by_policy_too() -> None:
    runs = experiment.run(PLAN, 1)
    spreads = experiment.spreads(runs)
    assert tuple(spreads) == PLAN.policies
    makespans = [run.metrics.makespan for run in runs[:3]]
    assert spreads["rigid-min"]["makespan"] == spread(makespans)
    assert spreads["rigid-min"]["makespan"].mean == experiment.means(runs)["rigid-min"]["makespan"]


def test_a_workload_at_hand_stands_for_its_word(kit: Any) -> None:
    (run,) = experiment.run(Experiment("", ("fcfs",), workload=kit.workload(kit.rigid(1, 2, 3))))
    assert run.outcome.last_end == 3


def test_seeds_also_draw_errors_and_refusals() -> None:
    plan = Experiment("charm", ("water-filling",), (1, 2), error=0.5, refusals=0.2)
    options = plan.options(2)
    assert (options.seed, options.estimates.seed, options.refusals) == (2, 2, 0.2)


@pytest.mark.parametrize(
    ("plan", "kind", "message"),
    [
        (
            Experiment("charm", ("moldabel",)),
            UnknownPolicy,
            "unknown queue policy 'moldabel'; did you mean 'moldable'?",
        ),
        (Experiment("chram", ("fcfs",)), WorkloadError, "unknown workload 'chram'; did you mean 'charm'?"),
        (
            Experiment("charm", ("fcfs",), total=8),
            WorkloadError,
            "charm-0: job 6: needs 16 units, and the cluster has 8; --oversized skips or clips it",
        ),
    ],
)
def test_what_cannot_be_is_reported_before_anything_runs(plan: Experiment, kind: type, message: str) -> None:
    def never(_done: int, _total: int) -> None:
        raise AssertionError("something ran")

    with pytest.raises(kind) as error:
        experiment.run(plan, 1, never)
    assert str(error.value) == message


def test_a_simulating_process_that_is_killed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415

    def broken(_futures: Any) -> Any:
        raise BrokenProcessPool("dead")

    monkeypatch.setattr(experiment, "as_completed", broken)
    with pytest.raises(SimulationError, match="a simulating process was killed, perhaps for its memory"):
        experiment.run(PLAN, 2)


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("priority-elastic:gap=60", {"gap": 60.0}),
        ("priority-elastic:gap=inf,launcher=1", {"gap": float("inf"), "launcher": 1}),
        ("easy:extra=false", {"extra": False}),
        ("easy:extra=no", {"extra": False}),
        ("malleable:extra=Yes", {"extra": True}),
    ],
)
def test_a_policy_s_settings_stand_behind_its_name(word: str, values: dict[str, Any]) -> None:
    policy = policy_named(word)
    assert policy == plugins.load(word.split(":", maxsplit=1)[0], values)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "priority-elastic:gpa=60",
            "queue policy priority-elastic: unknown setting 'gpa'; did you mean 'gap'?",
        ),
        ("priority-elastic:gap", "queue policy priority-elastic: 'gap'; a setting is written name=value"),
        (
            "priority-elastic:gap=soon",
            "queue policy priority-elastic: setting gap is 'soon'; it must be a number, like",
        ),
        (
            "easy:extra=maybe",
            "queue policy easy: setting extra is 'maybe'; it must be true or false, like its default true",
        ),
        ("fcfs:gap=1", "queue policy fcfs: unknown setting 'gap'; it has none"),
    ],
)
def test_a_setting_that_is_none_is_refused(word: str, message: str) -> None:
    with pytest.raises(PolicySettings) as error:
        policy_named(word)
    assert str(error.value).startswith(message)


def test_every_policy_is_offered_with_a_description_of_each_setting() -> None:
    offered = {each.name: each for each in choices(plugins.policies())}
    assert set(offered) == set(plugins.policies())
    for each in offered.values():
        assert each.description, each.name
        assert all(setting.description for setting in each.settings), each.name
    shown = row(offered["priority-elastic"])
    assert shown["settings"][0]["name"] == "gap"
