"""The co-scheduler as it was published: its update, its loss, and its guests, for `reproduce_cosched`.

Weights are multiplied in each round by exp(-rate * risk), with a rate that falls; the drawn action's loss
counts alone and unweighted; a host's loss is by how much it passed its time limit; a guest needs all that
it asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from queue_policies.cosched import learner
from queue_policies.cosched.cosched import Cosched
from queue_policies.cosched.learner import Risks

if TYPE_CHECKING:
    from collections.abc import Sequence


def weights(risks: Risks) -> tuple[float, ...]:
    """The weights: `past` has the sums of rate times risk."""
    least = min(risks.past)
    raw = [math.exp(least - each) for each in risks.past]
    return tuple(each / sum(raw) for each in raw)


def added(risks: Risks, costs: Sequence[float]) -> Risks:
    """The risks with those of one more case."""
    current = tuple(risk + cost for risk, cost in zip(risks.current, costs, strict=True))
    if max(current) <= learner.MAX_RISK:
        return risks._replace(current=current)
    gamma = learner.rate(len(current), risks.round)
    past = tuple(old + gamma * new for old, new in zip(risks.past, current, strict=True))
    return Risks(past, (0.0,) * len(past), risks.round + 1)


@dataclass(frozen=True, slots=True)
class Published(Cosched):
    """The published update, under the same conditions and with the same experts."""

    name: ClassVar[str] = "published"
    guard: float = 0.0
    tries: int = 1
    delay: float = 1e9
    best_fit: bool = False
    two_sided: bool = False
    importance: bool = False
    sleeping: bool = False
    need_by_use: bool = False
    delayed: bool = False

    def weights(self, risks: Risks) -> tuple[float, ...]:
        """The experts' weights."""
        return weights(risks)

    def charged(self, risks: Risks, costs: Sequence[float]) -> Risks:
        """The risks with the costs of one more case."""
        return added(risks, costs)
