"""A trace of cases whose losses are known for all actions: what ours and the published update lose in it."""

from __future__ import annotations

from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import published_cosched

from queue_policies.cosched import forest, learner, trees
from queue_policies.cosched.happiness import happiness, slowdown
from queue_policies.degradation import slowed
from queue_policies.simulator.workloads import workflows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from queue_policies.cosched.learner import Distribution
    from queue_policies.simulator.shared_cores import QuotaContention

CASES, SEEDS = 3000, 20
HOST_WEIGHT, IDLE, GUARD = 0.75, 0.35, 1.1
LAG = 5  # cases until the loss of one is known
GRID = trees.actions_of(forest.ACTIONS)


class JudgedCase(NamedTuple):
    """A case, and what each action costs in it."""

    state: dict[str, float]
    allowed: tuple[bool, ...]
    losses: tuple[float, ...]


def drawn(stream: Random, model: QuotaContention) -> JudgedCase:
    """A case of two jobs of the workload, at some moment of the host's life."""
    (host, cores), (guest, size) = _job(stream), _job(stream)
    size = min(size, cores)
    limit, elapsed = stream.uniform(workflows.TIGHTEST, workflows.LOOSEST), stream.uniform(0.05, 0.95)
    happy = happiness(limit - elapsed, elapsed, 1 - elapsed) or 0.0
    mine, other = workflows.WORKFLOWS[host].program, workflows.WORKFLOWS[guest].program
    idle = IDLE * min(1.0, (1 - mine.cpu) / GRID[1])
    losses, allowed = [idle], [True]
    for action in GRID[1:]:
        meets = action * cores >= other.cpu * size - 1e-9
        stretch = model.stretch(mine, [other])
        of_host = slowdown(stretch / slowed(mine.cpu, 1 - action), 1.0)
        of_guest = slowdown(stretch / slowed(other.cpu * size, action * cores), 1.0)
        losses.append(HOST_WEIGHT * of_host + (1 - HOST_WEIGHT) * of_guest if meets else idle)
        allowed.append(meets and happy * slowed(mine.cpu, 1 - action) >= GUARD)
    state = {
        "cpu": mine.cpu,
        "memory": mine.memory,
        "parallel": 1.0,
        "elapsed": elapsed / limit,
        "happiness": happy,
        "slowdown": 0.0,
        "guest-slowdown": 0.0,
        "guest-cpu": other.cpu,
        "guest-memory": other.memory,
    }
    return JudgedCase(state, tuple(allowed), tuple(losses))


def _job(stream: Random) -> tuple[str, int]:
    kind = stream.choices(tuple(workflows.WORKFLOWS), [len(w.sizes) for w in workflows.WORKFLOWS.values()])[0]
    return kind, stream.choice(workflows.WORKFLOWS[kind].sizes)


def regrets(
    model: QuotaContention, seeds: Sequence[int] = range(SEEDS), cases: int = CASES
) -> tuple[float, float]:
    """The mean regret of ours and of the published update, over so many traces."""
    found = []
    for seed in seeds:
        stream = Random(f"trace/{seed}")
        trace = [drawn(stream, model) for _ in range(cases)]
        best = min(_lost(expert, trace) for expert in forest.EXPERTS)
        found.append((_ours(trace, seed) - best, _published(trace, seed) - best))
    return fmean(ours for ours, _ in found), fmean(theirs for _, theirs in found)


def _lost(expert: trees.Expert, trace: Sequence[JudgedCase]) -> float:
    return sum(_expected(expert.advice(case.state), case.losses) for case in trace)


def _expected(distribution: Distribution, losses: Sequence[float]) -> float:
    return sum(each * loss for each, loss in zip(distribution, losses, strict=True))


def _ours(trace: Sequence[JudgedCase], seed: int) -> float:
    """What ours loses: masks, importance weights, implicit exploration; each loss is known later."""
    actions, risks, lost = len(GRID), learner.fresh(len(forest.EXPERTS)), 0.0
    waiting: list[tuple[float, ...]] = []
    for number, case in enumerate(trace):
        advice = [learner.masked(each.advice(case.state), case.allowed) for each in forest.EXPERTS]
        mixture = learner.mixed(learner.weights(risks, actions), advice) or (1.0, 0.0, 0.0, 0.0)
        lost += _expected(mixture, case.losses)
        index = learner.drawn(mixture, seed, number)
        gamma = learner.rate(len(advice), risks.round, actions)
        estimate = learner.implicit(case.losses[index], mixture[index], gamma)
        waiting.append(tuple(0.0 if each is None else each[index] * estimate for each in advice))
        if len(waiting) > LAG:
            risks = learner.added(risks, waiting.pop(0))
    return lost


def _published(trace: Sequence[JudgedCase], seed: int) -> float:
    """What the published update loses: the drawn action's loss alone, unweighted, and nothing masked."""
    risks, lost = learner.fresh(len(forest.EXPERTS)), 0.0
    waiting: list[tuple[float, ...]] = []
    for number, case in enumerate(trace):
        advice = [each.advice(case.state) for each in forest.EXPERTS]
        mixture = learner.mixed(published_cosched.weights(risks), advice)
        if mixture is None:
            raise AssertionError("nobody abstains here")
        lost += _expected(mixture, case.losses)
        index = learner.drawn(mixture, seed, number)
        waiting.append(tuple(each[index] * case.losses[index] for each in advice))
        if len(waiting) > LAG:
            risks = published_cosched.added(risks, waiting.pop(0))
    return lost
