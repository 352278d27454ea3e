"""Paper A's workload: 16 stencil jobs of four sizes with priorities, submitted at equal gaps on 60 slots.

Source: "An elastic job scheduler for HPC applications on the cloud" (Charm++ on Kubernetes), section on the
simulator, and its artefact. Sizes are slots; each job's launcher holds one of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.simulator.cost import Relaunch
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import PiecewiseLinear
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOTS = 60
JOBS = 16


class Size(NamedTuple):
    """One of the four sizes of a job."""

    grid: int
    """The edge of its grid, in points."""
    min: int
    """Least slots."""
    steps: int
    """Timesteps."""
    balancing: float
    """Seconds to balance its load."""
    iteration: tuple[tuple[int, float], ...]
    """Seconds of an iteration, at some numbers of slots."""

    @property
    def max(self) -> int:
        """The greatest number of slots."""
        return min(4 * self.min, SLOTS)


SIZES = (
    Size(512, 2, 40_000, 0.006, ((2, 0.003), (4, 0.0017), (8, 0.000996))),
    Size(2048, 4, 40_000, 0.01563, ((4, 0.012), (8, 0.0067), (16, 0.0037))),
    Size(8192, 8, 40_000, 0.181229, ((8, 0.049), (16, 0.03), (32, 0.019))),
    Size(16384, 16, 10_000, 0.728237, ((16, 0.13), (32, 0.075), (60, 0.046))),
)
RESTART = ((2, 0.634), (4, 0.851), (8, 1.195), (16, 2.55), (32, 4.17), (60, 9.02))


def restart_line() -> tuple[float, float]:
    """Return base and seconds for each slot of the least-squares line through measured restart times."""
    number = len(RESTART)
    mean_x = sum(x for x, _ in RESTART) / number
    mean_y = sum(y for _, y in RESTART) / number
    slope = sum((x - mean_x) * (y - mean_y) for x, y in RESTART) / sum((x - mean_x) ** 2 for x, _ in RESTART)
    return mean_y - slope * mean_x, slope


def cost() -> Relaunch:
    """Return the cost of starting and resizing there."""
    base, unit = restart_line()
    return Relaunch(base=base, unit=unit)


@dataclass(frozen=True, slots=True)
class Draw:
    """The random values of one job."""

    size: Size
    priority: int


def draws(sets: int, seed: int = 42, jobs: int = JOBS) -> Iterator[tuple[Draw, ...]]:
    """Yield `sets` sets of jobs, drawn one after the other from one stream of random numbers."""
    stream = random.Random(seed)  # noqa: S311 - the paper's own draw
    for _ in range(sets):
        yield tuple(Draw(stream.choice(SIZES), stream.randint(1, 5)) for _ in range(jobs))


def workload(drawn: tuple[Draw, ...], gap: float, name: str = "charm") -> Workload:
    """Return the workload of a set of jobs, one submitted every `gap` seconds."""
    jobs = tuple(_job(index, each, index * gap) for index, each in enumerate(drawn))
    return Workload(name, jobs, SLOTS, "slots", cost())


def _job(index: int, drawn: Draw, submitted: float) -> WorkloadJob:
    size = drawn.size
    return WorkloadJob(
        id=index + 1,
        submitted=submitted,
        min=size.min,
        max=size.max,
        time=PiecewiseLinear(size.iteration, scale=float(size.steps)),
        priority=drawn.priority,
        malleable=True,
        redistribution=size.balancing,
        kind=str(size.grid),
    )
