"""What `interference.py` makes of its measurements: contention of pairs, the model's fit, triples, choices.

Programs meet in two ways. On one core they take turns, and each finds in the caches what the others left
there (`same core`). On different cores they run at the same time, and have one last-level cache and one
memory bus (`different cores`). The simulator's model of contention is fitted to each of the two ways on its
own: in each there is one domain, and what differs are the constants.

A triple has one program on a core of its own, and two that take turns on the other core. So each of these two
meets the other one in the first way, and the program of the other core in the second way; the program that is
alone on its core meets each of the two for as much of the time as that one runs.

**What a domain is for `balanced`.** A domain of a placement is where programs slow each other down, and the
machine has no NUMA domains. The pairs decide, by the way in which they show more contention. Is it `same
core`, the domains are the two cores. Is it `different cores`, a domain is the memory bus while one core's
time is the newcomer's: there runs what is on the other core. So a resident of core 1 demands bandwidth in the
domain of core 0, and a newcomer that wants the domain with the least demand goes onto the core of the more
demanding resident, with which it takes turns. Each domain has two virtual cores, one of which the resident
has.
"""

from __future__ import annotations

from itertools import product
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from least_squares import minimize

from queue_policies.nodes.pool import Pool
from queue_policies.placement.records import Profile, ProfileKind, TaskShape
from queue_policies.simulator.contention import Occupant, Occupants
from queue_policies.simulator.domain_contention import DomainContention, KindOfJob
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.node_cluster import CoreRequest, alike
from queue_policies.simulator.speedup import Fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.placement.protocol import Placement

PROFILES = {
    "product": ProfileKind.CPU,
    "chase": ProfileKind.MEMORY,
    "stream": ProfileKind.MEMORY,
    "sleeper": ProfileKind.CPU,
}
KINDS = tuple(PROFILES)
SAME, DIFFERENT = "same core", "different cores"
WAYS = (SAME, DIFFERENT)
NOISE_SPREADS = 2.0
"""Below so many spreads nothing counts. The spread is a standard deviation over rounds: of what differs by
chance alone, one in twenty is beyond two of them."""
KNEES = (0.0, 0.5, 1.0, 1.5)
"""Where the search for the knee begins: the demand of a stream is 1."""
SLIGHT = 1e-9
Pair = tuple[str, str]
"""A program, and the one that it is beside."""


class Level(NamedTuple):
    """A figure over the rounds."""

    median: float
    spread: float
    """The standard deviation."""

    def beyond_noise(self) -> bool:
        """Return whether it is so far from 0 that it counts."""
        return abs(self.median) >= NOISE_SPREADS * self.spread


def level(values: Sequence[float]) -> Level:
    """Return median and spread of two values or more."""
    return Level(median(values), stdev(values))


def losses(work: Mapping[Pair, Sequence[float]], alone: Mapping[str, Sequence[float]]) -> dict[Pair, Level]:
    """Return by how much less each program does beside another, as a fraction of what it does alone.

    `work` is that of each round, as a fraction of what the program did alone. `alone` has the same where
    nothing was beside it: a loss has at least the spread of these.
    """
    found = {}
    for (kind, other), values in work.items():
        had = level([1 - value for value in values])
        found[kind, other] = had._replace(spread=max(had.spread, level(alone[kind]).spread))
    return found


class Triple(NamedTuple):
    """Two programs, each on a core, and a third one that joins one of them."""

    residents: Pair
    """Of core 0 and of core 1."""
    newcomer: str

    def programs(self, core: int) -> tuple[tuple[str, int], ...]:
        """Return the newcomer, who it is with, and who is on the other core, each with its core."""
        return (self.newcomer, core), (self.residents[core], core), (self.residents[1 - core], 1 - core)

    def __str__(self) -> str:
        return f"{self.newcomer} joins {self.residents[0]} | {self.residents[1]}"


def slowdowns(found: Mapping[Pair, Level]) -> dict[Pair, float]:
    """Return how many times as long each program takes beside another: 1 where nothing counts."""
    return {pair: 1 / (1 - loss.median) if loss.beyond_noise() else 1.0 for pair, loss in found.items()}


def fit(slowdowns: Mapping[Pair, float]) -> DomainContention:
    """Return the model for one way to meet, from how many times as long each program takes beside another."""
    others = [kind for kind in KINDS if kind != "stream"]

    def model(at: Sequence[float]) -> DomainContention:
        squares = [value * value for value in at]  # no constant is negative
        demands = dict(zip(others, squares, strict=False)) | {"stream": 1.0}
        felt = dict(zip(KINDS, squares[len(others) :], strict=False))
        slope = max(SLIGHT, *felt.values())  # only its product with `memory` shows: the largest `memory` is 1
        kinds = {kind: KindOfJob(1 - felt[kind] / slope, felt[kind] / slope, demands[kind]) for kind in KINDS}
        return DomainContention(kinds, ((0b11,),), squares[-1], slope)

    def residuals(at: Sequence[float]) -> list[float]:
        tried = model(at)
        return [slowdown(tried, kind, other) / value - 1 for (kind, other), value in slowdowns.items()]

    begin = [0.5] * (len(others) + len(KINDS))
    ends = [minimize(residuals, [*begin, knee], steps=60, width=1e-4) for knee in KNEES]
    return model(min(ends, key=lambda end: end.cost).at)


def slowdown(model: DomainContention, kind: str, other: str) -> float:
    """Return how many times as long as alone a program takes beside another."""
    return _seconds(model, kind, other) / _seconds(model, kind)


def _seconds(model: DomainContention, *kinds: str) -> float:
    """Return the seconds of the first of these, which are in one domain."""
    occupants = Occupants()
    for number, kind in enumerate(kinds):
        job = WorkloadJob(number, 0, 1, 1, Fixed(1), kind=kind)
        occupants.add(Occupant(job, 1, {0: (1 << number, 0)}))
    return model.seconds([0], occupants)[0]


def fractions(one: float, other: float) -> tuple[float, float]:
    """Return how much of a core's time two programs get that would use so much of it alone."""
    if one + other <= 1:
        return one, other
    half = min(max(0.5, 1 - other), one)
    return half, 1 - half


def predicted(
    models: Mapping[str, DomainContention], triple: Triple, core: int, used: Mapping[str, float]
) -> tuple[float, float, float]:
    """Return the work for a second of CPU, over that alone, in the order of `Triple.programs`.

    `used` is the fraction of a core that each uses alone.
    """
    (newcomer, _), (mate, _), (other, _) = triple.programs(core)
    bus = models[DIFFERENT]
    together = [
        1 / slowdown(models[SAME], one, two) / slowdown(bus, one, other)
        for one, two in ((newcomer, mate), (mate, newcomer))
    ]
    parts = fractions(used[newcomer], used[mate])
    beside = [1 / slowdown(bus, other, each) for each in (newcomer, mate)]
    apart = sum(part * each for part, each in zip(parts, beside, strict=True)) + 1 - sum(parts)
    return together[0], together[1], apart


def domain_way(found: Mapping[str, Mapping[Pair, Level]]) -> str:
    """Return in which way the pairs show more contention; empty: none do."""
    totals = {
        way: sum(each.median for each in of_way.values() if each.beyond_noise() and each.median > 0)
        for way, of_way in found.items()
    }
    best = max(WAYS, key=totals.__getitem__)
    return best if totals[best] else ""


def chosen(placement: Placement, triple: Triple, way: str, model: DomainContention) -> int:
    """Return the core that a placement chooses for the newcomer; what is a domain goes by the way."""
    nodes = alike(1, 2, 2)
    pool = Pool(nodes, lambda node, constraint: True, placement)  # noqa: ARG005 - no job has a constraint
    pool.mark(0, up=True)
    for core, kind in enumerate(triple.residents):
        domain = nodes[0].domains[core if way == SAME else 1 - core]
        pool.hold(core, {0: (domain & -domain, 0)}, _profile(kind, model))
    shape = TaskShape(_profile(triple.newcomer, model))
    allocation = pool.place(CoreRequest(1, shape))
    assert allocation is not None  # both domains have a free core
    return 0 if allocation[0][0] & nodes[0].domains[0] else 1


def _profile(kind: str, model: DomainContention) -> Profile:
    return Profile(PROFILES[kind], max(SLIGHT, model.kinds[kind].demand))


def advantage(rounds: Sequence[Sequence[Sequence[float]]]) -> Level:
    """Return how much better core 0 is than core 1 for a triple's newcomer.

    What counts is the work for a second of CPU, over that alone, each program as much as the others. `rounds`
    has it by round, core and program.
    """
    return level([fmean(first) - fmean(second) for first, second in rounds])


def all_pairs() -> list[Pair]:
    """Return each pair of programs once, and each with itself."""
    return [(one, other) for one, other in product(KINDS, KINDS) if KINDS.index(one) <= KINDS.index(other)]
