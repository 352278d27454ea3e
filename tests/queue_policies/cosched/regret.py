"""What the learner loses beside the best expert where all losses are known, and what it may lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from queue_policies.cosched import learner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Losses = Callable[[int, Sequence[float]], Sequence[float]]
    """From a case's number and the weights, what each expert loses in it, from 0 to 1."""


class Regret(NamedTuple):
    """The regret behind a round, and the bound on it."""

    regret: float
    bound: float


def of_rounds(experts: int, cases: int, losses: Losses) -> list[Regret]:
    """Return the regret behind each round, the last and unfinished one, too."""
    risks = learner.fresh(experts)
    weights, lost, total = learner.weights(risks), 0.0, [0.0] * experts
    found = []
    for number in range(cases):
        costs = losses(number, weights)
        lost += sum(weight * cost for weight, cost in zip(weights, costs, strict=True))
        total = [one + cost for one, cost in zip(total, costs, strict=True)]
        before, risks = risks.round, learner.added(risks, costs)
        if risks.round > before or number == cases - 1:
            found.append(Regret(lost - min(total), learner.bound(experts, before)))
            weights = learner.weights(risks)
    return found


def drawn(stream: Random) -> tuple[int, int, Losses]:
    """Return experts, cases and losses of a random kind."""
    experts, cases = stream.randint(1, 20), stream.randint(1, 120)
    kind = stream.choice((_uniform, _biased, _phased, _against_the_heaviest, _for_the_lightest, _whole))
    return experts, cases, kind(stream, experts)


def _uniform(stream: Random, experts: int) -> Losses:
    return lambda _number, _weights: [stream.random() for _ in range(experts)]


def _biased(stream: Random, experts: int) -> Losses:
    means = [stream.random() for _ in range(experts)]
    return lambda _number, _weights: [float(stream.random() < mean) for mean in means]


def _whole(_stream: Random, experts: int) -> Losses:
    return lambda _number, _weights: [1.0] * experts


def _phased(stream: Random, experts: int) -> Losses:
    length = stream.randint(1, 40)
    return lambda number, _weights: [float((number // length + each) % 2) for each in range(experts)]


def _against_the_heaviest(stream: Random, experts: int) -> Losses:
    most = stream.uniform(0.5, 1)

    def losses(_number: int, weights: Sequence[float]) -> Sequence[float]:
        heaviest = max(weights)
        return [most if weights[each] == heaviest else 0.0 for each in range(experts)]

    return losses


def _for_the_lightest(stream: Random, experts: int) -> Losses:
    spared = stream.randrange(experts)

    def losses(number: int, weights: Sequence[float]) -> Sequence[float]:
        lightest = min(range(experts), key=weights.__getitem__)
        return [
            0.0 if each == lightest or (number % 3 == 0 and each == spared) else 1.0
            for each in range(experts)
        ]

    return losses
