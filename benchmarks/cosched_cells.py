"""What `reproduce_cosched` measures: sets of jobs one after the other, in which a learner remembers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from queue_policies.simulator.estimate import Estimates
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.workloads import workflows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queue_policies.policy import Policy
    from queue_policies.simulator.outcome import JobOutcome, RunOutcome, WeightSample
    from queue_policies.simulator.shared_cores import QuotaContention
    from queue_policies.simulator.workload import Workload

METRICS = ("wait", "cpu", "response", "makespan", "slowdown")
KINDS = tuple(workflows.WORKFLOWS)


@dataclass
class Cell:
    """A policy at one size: means over all sets."""

    means: dict[str, float]
    hosts: Counter[str] = field(default_factory=Counter)
    """How many guests each kind of job had."""
    weights: Sequence[Sequence[WeightSample]] = ()
    """Of the first seed, in each of its sets."""
    spans: Sequence[tuple[float, float]] = ()
    """When those sets began and ended."""


def run(  # noqa: PLR0913, PLR0917 - a workload's numbers
    policy: Policy,
    cores: int,
    seeds: Sequence[int],
    sets: int = 3,
    copies: int = 1,
    span: float = 0.0,
    model: QuotaContention | None = None,
    skipped: int = 0,
) -> Cell:
    """Run the sets of all seeds; those before `skipped` are run, and do not count."""
    rows: list[Mapping[str, float]] = []
    cell = Cell({})
    first = []
    for seed in seeds:
        memory = None
        for number in range(sets):
            workload = workflows.workload(100 * seed + number, cores, copies, span, model)
            options = SimulationOptions(Estimates(learned=True), seed=seed, memory=memory)
            outcome = simulate(workload, policy, options)
            memory = outcome.memory
            if seed == seeds[0]:
                first.append(outcome)
            if number >= skipped:
                rows.append(measured(outcome, workload))
                cell.hosts += hosts(outcome)
    cell.means = {name: fmean(row[name] for row in rows if name in row) for name in rows[0]}
    cell.weights = [each.weights for each in first]
    cell.spans = [(each.begin, each.last_end) for each in first]
    return cell


def measured(outcome: RunOutcome, workload: Workload) -> dict[str, float]:
    """Mean wait and response in hours, CPU used of what was allocated, makespan, slowdown, run times by
    kind."""
    jobs = outcome.jobs
    alone = {job.id: job.time.seconds(job.min) for job in workload.jobs}
    slow = {job.id: (job.ended - job.started) / alone[job.id] - 1 for job in jobs}
    found = {
        "wait": fmean(job.wait for job in jobs) / workflows.HOUR,
        "response": fmean(job.turnaround for job in jobs) / workflows.HOUR,
        "cpu": cpu(outcome, {job.id: job.min for job in workload.jobs}),
        "makespan": outcome.last_end / workflows.HOUR,
        "slowdown": fmean(slow.values()),
    }
    for kind in KINDS:
        of_kind = [job for job in jobs if job.kind == kind]
        if of_kind:
            found[f"{kind} h"] = fmean(job.ended - job.started for job in of_kind) / workflows.HOUR
            found[f"{kind} slowdown"] = fmean(slow[job.id] for job in of_kind)
    return found


def cpu(outcome: RunOutcome, sizes: Mapping[int, int]) -> float:
    """CPU used over CPU allocated: a job is allocated its quota of the cores that it runs on."""
    used = allocated = 0.0
    for job in outcome.jobs:
        fraction = workflows.WORKFLOWS[job.kind].program.cpu
        for begin, end, quota, cores in spans(outcome, job, sizes):
            allocated += quota * cores * (end - begin)
            used += min(quota * cores, fraction * sizes[job.id]) * (end - begin)
    return used / allocated


def spans(
    outcome: RunOutcome, job: JobOutcome, sizes: Mapping[int, int]
) -> Sequence[tuple[float, float, float, int]]:
    """A job's life in spans of one quota: begin, end, the quota, and the cores that it is of."""
    changes = [(job.started, 1.0, None), *outcome.quotas.get(job.id, ())]
    ends = [change[0] for change in changes[1:]] + [job.ended]
    return [
        (begin, end, quota, sizes[job.id if host is None else host])
        for (begin, quota, host), end in zip(changes, ends, strict=True)
        if end > begin
    ]


def hosts(outcome: RunOutcome) -> Counter[str]:
    """How many guests each kind of job had."""
    kinds = {job.id: job.kind for job in outcome.jobs}
    return Counter(
        kinds[change.host]
        for changes in outcome.quotas.values()
        for change in changes[:1]
        if change.host is not None
    )


def fitted(
    seeds: Sequence[int], published: Mapping[int, float], static: Policy, easy: Policy
) -> tuple[float, float]:
    """What sharing memory costs, by the ratios of static's responses to EASY's, and the error that is left.

    The other two costs stay as assumed: static shares whoever comes, so its ratios hardly depend on them.
    """
    base = {cores: run(easy, cores, seeds).means["response"] for cores in published}

    def error(memory: float) -> float:
        model = workflows.model(memory=memory)
        ratios = {
            cores: run(static, cores, seeds, model=model).means["response"] / base[cores] for cores in base
        }
        return math.fsum((ratios[cores] / each - 1) ** 2 for cores, each in published.items())

    low, high = 0.0, 4.0
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = error(left), error(right)
    while high - low > 0.1:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = error(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = error(right)
    return (low + high) / 2, min(at_left, at_right)
