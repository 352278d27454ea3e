"""Four scientific workflows on one large shared-memory machine, whose jobs may share cores.

Source: Souza, Pelckmans and Tordsson, "A HPC Co-Scheduler with Reinforcement Learning", 2021: the
workflows, their hours, what they use of CPU and memory, and how their run times vary with the cores. A set
has 15 jobs. What sharing memory costs is fitted on that paper's ratios of response times, two jobs on each
core set over whole allocations (`benchmarks/reproduce_cosched.py --fit`). The other two costs are assumed:
those ratios hardly tell them apart.
"""

from __future__ import annotations

import math
import random
import statistics
from typing import NamedTuple

from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.shared_cores import ProgramUse, QuotaContention
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

HOUR = 3600.0
TIGHTEST, LOOSEST = 1.05, 1.5  # time limits are so many times as long as the job takes alone


class Workflow(NamedTuple):
    """A program of the set."""

    hours: float
    """What it takes alone: the mean over its sizes."""
    deviation: float
    """The standard deviation of that over its sizes, as a fraction: more cores are faster."""
    sizes: tuple[int, ...]
    """The cores of its jobs."""
    program: ProgramUse


WORKFLOWS = {
    "Montage": Workflow(0.35, 0.04, (8, 16, 32, 64), ProgramUse(0.45, 0.10, io=True)),
    "BLAST": Workflow(0.71, 0.21, (8, 16, 32, 64), ProgramUse(0.96, 0.44)),
    "Statistics": Workflow(0.69, 0.10, (8, 16, 32, 64), ProgramUse(0.26, 0.05, io=True)),
    "Synthetic": Workflow(0.49, 0.15, (16, 32, 64), ProgramUse(0.99, 0.95)),
}
BASE, MEMORY, IO = 0.1, 1.9, 0.2
"""What sharing costs: see `shared_cores`."""


def seconds(workflow: Workflow, cores: int) -> float:
    """Return what a job of a workflow takes alone on so many of the sizes' cores."""
    steps = [math.log2(size) for size in workflow.sizes]
    step = (math.log2(cores) - statistics.fmean(steps)) / statistics.pstdev(steps)
    return workflow.hours * HOUR * (1 - workflow.deviation * step)


def model(base: float = BASE, memory: float = MEMORY, io: float = IO, noise: float = 0.0) -> QuotaContention:
    """Return what sharing costs these programs."""
    programs = {name: each.program for name, each in WORKFLOWS.items()}
    return QuotaContention(programs, base, memory, io, noise=noise)


def workload(
    seed: int, cores: int, copies: int = 1, span: float = 0.0, contention: QuotaContention | None = None
) -> Workload:
    """Return so many sets in random order: all at once, or submitted over a span of hours.

    Jobs that need more cores than there are, are left out.
    """
    stream = random.Random(f"workflows/{seed}")  # noqa: S311 - a workload's
    kinds = [
        (name, size) for name, each in WORKFLOWS.items() for size in each.sizes if size <= cores
    ] * copies
    stream.shuffle(kinds)
    times = sorted(stream.uniform(0, span * HOUR) for _ in kinds) if span else [0.0] * len(kinds)
    jobs = []
    for number, ((name, size), submitted) in enumerate(zip(kinds, times, strict=True), 1):
        alone = seconds(WORKFLOWS[name], size)
        limit = alone * stream.uniform(TIGHTEST, LOOSEST)
        jobs.append(WorkloadJob(number, submitted, size, size, Fixed(alone), limit, kind=name))
    shared = model() if contention is None else contention
    return Workload(f"workflows-{seed}", tuple(jobs), cores, "cores", contention=shared, soft_limits=True)
