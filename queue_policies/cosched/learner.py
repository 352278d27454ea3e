"""Experts and what following each would have cost: follow the regularized leader, with a rate that falls.

Risks are added up in rounds. A round ends once an expert's risk in it is above 1. Weights are made anew from
all risks so far, with the rate g(t) of round t: proportional to exp(-g(t) R), g(t) = sqrt(ln n / t). So early
steps are scaled down together with later ones. (To multiply the weights of the round before by exp(-g(t) r)
instead has linear regret: what was learned in early, large steps is not unlearned in later, small ones.)

Bound, where the losses of all actions are known, and in [0, 1]: behind t rounds, what following the weights
cost is at most ln n / g(t) + (g(1) + ... + g(t)) / 2 above what the best expert cost. A case adds at most
1, so a risk is at most 2 in a round, and Hoeffding's lemma gives g(t)^2 * 2^2 / 8 for a round.

With the loss of the drawn action alone, importance weights with implicit exploration take the place of what
is not known: Neu, "Explore no more: Improved high-probability regret bounds for non-stochastic bandits",
2015.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_RISK = 1.0
"""A round ends once an expert's risk in it is above this."""
Distribution = tuple[float, ...]
"""Probabilities of the actions, in their order."""


class Risks(NamedTuple):
    """What following each expert would have cost."""

    past: tuple[float, ...]
    """In all rounds that ended."""
    current: tuple[float, ...]
    """In the present one."""
    round: int = 1
    """Its number, from 1."""


def fresh(experts: int) -> Risks:
    """Return the risks of so many experts before the first case."""
    return Risks((0.0,) * experts, (0.0,) * experts)


def rate(experts: int, number: int, actions: int = 1) -> float:
    """Return the learning rate of a round; `actions`: how many there are, where only one's loss is known."""
    return math.sqrt(math.log(experts) / (actions * number))


def weights(risks: Risks, actions: int = 1) -> tuple[float, ...]:
    """Return the experts' weights in this round. They sum to 1."""
    gamma, least = rate(len(risks.past), risks.round, actions), min(risks.past)
    raw = [math.exp(-gamma * (risk - least)) for risk in risks.past]
    total = sum(raw)
    return tuple(each / total for each in raw)


def added(risks: Risks, costs: Sequence[float], discount: float = 1.0) -> Risks:
    """Return the risks with those of one more case; `discount` is what a round leaves of those before."""
    current = tuple(risk + cost for risk, cost in zip(risks.current, costs, strict=True))
    if max(current) <= MAX_RISK:
        return risks._replace(current=current)
    past = tuple(discount * old + new for old, new in zip(risks.past, current, strict=True))
    return Risks(past, (0.0,) * len(past), risks.round + 1)


def bound(experts: int, rounds: int) -> float:
    """Return the most that so many rounds may cost above the best expert, where all losses are known."""
    if experts == 1:
        return 0.0
    rates = [rate(experts, number) for number in range(1, rounds + 1)]
    return math.log(experts) / rates[-1] + sum(rates) / 2


def masked(distribution: Distribution, allowed: Sequence[bool]) -> Distribution | None:
    """Return an expert's distribution over the allowed actions; None: it has nothing left, and abstains."""
    if all(allowed):
        return distribution
    left = [each if may else 0.0 for each, may in zip(distribution, allowed, strict=True)]
    total = sum(left)
    return tuple(each / total for each in left) if total > 0 else None


def mixed(alphas: Sequence[float], distributions: Sequence[Distribution | None]) -> Distribution | None:
    """Return the mixture of those that do not abstain; None: all do."""
    awake = [(weight, each) for weight, each in zip(alphas, distributions, strict=True) if each is not None]
    total = sum(weight for weight, _ in awake)
    if total <= 0:
        return None
    columns = zip(*(each for _, each in awake), strict=True)
    return tuple(
        sum(weight * each for (weight, _), each in zip(awake, column, strict=True)) / total
        for column in columns
    )


def implicit(loss: float, probability: float, gamma: float) -> float:
    """Return the estimate of the drawn action's loss: a little too small, but never far too large."""
    return loss / (probability + gamma / 2)


def drawn(distribution: Distribution, seed: int, counter: int) -> int:
    """Return the index of an action. The draw is a keyed hash, so the same numbers give the same action."""
    digest = hashlib.blake2b(str(counter).encode(), digest_size=8, key=str(seed).encode()[:64]).digest()
    point = int.from_bytes(digest, "big") / 2**64 * sum(distribution)
    for index, each in enumerate(distribution):
        point -= each
        if point < 0:
            return index
    return max(index for index, each in enumerate(distribution) if each > 0)
