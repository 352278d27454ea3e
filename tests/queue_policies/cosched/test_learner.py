"""The learner's regret stays below its bound, whatever the losses; that of the published update does not."""

from __future__ import annotations

import math
from random import Random

import pytest

from queue_policies.cosched import learner
from tests.queue_policies.cosched import regret

CASES = 500
"""Of 10,000, which `make prove-cosched` has."""
ROUNDS = 200


def test_the_regret_stays_below_the_bound() -> None:
    stream = Random(22)
    for number in range(CASES):
        experts, cases, losses = regret.drawn(stream)
        for each in regret.of_rounds(experts, cases, losses):
            assert each.regret <= each.bound + 1e-9, f"sequence {number} of {experts} experts"


def test_one_expert_has_no_regret() -> None:
    found = regret.of_rounds(1, 50, lambda number, _weights: [number % 3 / 2])
    assert [each.regret for each in found] == pytest.approx([0.0] * len(found))
    assert {each.bound for each in found} == {0.0}


def two_phases(number: int) -> tuple[float, float]:
    """For 200 rounds of two cases the first expert loses nothing and the second always 1; then the
    reverse."""
    return (0.0, 1.0) if number < 2 * ROUNDS else (1.0, 0.0)


def test_two_phases_break_the_published_update_and_not_ours() -> None:
    """The published one multiplies its weights: early, large steps are not undone by late, small ones."""
    rounds = 4 * ROUNDS
    ours = regret.of_rounds(2, 2 * rounds, lambda number, _weights: two_phases(number))[-1]
    logs, lost = [0.0, 0.0], 0.0
    for number in range(1, rounds + 1):
        weight = 1 / (1 + math.exp(logs[1] - logs[0]))
        costs = [2 * each for each in two_phases(2 * (number - 1))]
        lost += weight * costs[0] + (1 - weight) * costs[1]
        logs = [log - learner.rate(2, number) * cost for log, cost in zip(logs, costs, strict=True)]
    published = lost - 2 * ROUNDS  # the second expert is the best: it lost in the first phase alone
    assert ours.regret <= ours.bound == pytest.approx(learner.bound(2, rounds))
    assert published > 10 * ours.bound


def test_weights_are_those_of_all_risks_with_the_present_rate() -> None:
    risks = learner.Risks((2.0, 1.0), (0.0, 0.0), 4)
    gamma = math.sqrt(math.log(2) / 4)
    assert learner.weights(risks)[0] == pytest.approx(1 / (1 + math.exp(gamma)))
    assert learner.weights(learner.fresh(4)) == (0.25,) * 4


def test_a_round_ends_once_a_risk_is_above_one() -> None:
    one = learner.added(learner.fresh(2), (1.0, 0.5))
    assert one == learner.Risks((0.0, 0.0), (1.0, 0.5), 1)
    two = learner.added(one, (0.25, 0.5))
    assert two == learner.Risks((1.25, 1.0), (0.0, 0.0), 2)
    assert learner.added(two, (1.5, 0.0), discount=0.5).past == (2.125, 0.5)


def test_what_cannot_be_is_masked_and_who_has_nothing_left_abstains() -> None:
    assert learner.masked((0.2, 0.3, 0.5), (True, False, True)) == pytest.approx((2 / 7, 0.0, 5 / 7))
    assert learner.masked((0.0, 1.0), (True, False)) is None
    assert learner.mixed((0.5, 0.25, 0.25), ((1.0, 0.0), None, (0.0, 1.0))) == pytest.approx((2 / 3, 1 / 3))
    assert learner.mixed((0.5, 0.5), (None, None)) is None


def test_an_estimate_is_never_above_what_the_exploration_lets_it_be() -> None:
    assert learner.implicit(0.5, 0.5, 0.0) == 1.0
    assert learner.implicit(1.0, 0.0, 0.1) == 20.0


def test_draws_follow_the_distribution_the_seed_and_the_counter() -> None:
    distribution = (0.5, 0.0, 0.3, 0.2)
    found = [learner.drawn(distribution, 7, counter) for counter in range(4000)]
    assert found == [learner.drawn(distribution, 7, counter) for counter in range(4000)]
    assert found != [learner.drawn(distribution, 8, counter) for counter in range(4000)]
    fractions = [found.count(index) / len(found) for index in range(4)]
    assert fractions == pytest.approx(distribution, abs=0.03)
    assert found.count(1) == 0
