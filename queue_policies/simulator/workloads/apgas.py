"""Paper B's workload: 25 jobs of eleven classes on 32 nodes, some of them malleable.

Source: the comparison of FCFS, backfilling, EASY and malleable scheduling with programs of the APGAS library
that grow and shrink by orders over a socket. Sizes are nodes; run times are fitted as T(n) = c + w/n, and
contain the start of the program.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from queue_policies.simulator.cost import PerUnit
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import Hyperbolic
from queue_policies.simulator.workload import Workload

NODES = 32
JOBS = 25
SEEDS = range(42, 52)
LIMIT = 800.0  # what every job there declares
FIRST = 5  # so many start at 0; the times of the others are counted from the last of them
WINDOW = 599
TICK = 5.0


class Class(NamedTuple):
    """A program at one problem size: T(n) = constant + work / n, its rigid size and malleable range."""

    name: str
    constant: float
    """Seconds that do not shrink with nodes."""
    work: float
    """Seconds times nodes."""
    nodes: int
    """Its size as a rigid job."""
    weight: float
    """How often it is drawn, relative to the others."""
    min: int
    """Its least size as a malleable job."""
    max: int
    """Its greatest."""


def _classes() -> tuple[Class, ...]:
    programs = (
        ("BC17", 8.0, 108.0, ((2, 1.5), (4, 1.0)), (1, 4)),
        ("BC18", 15.0, 650.0, ((2, 1.5), (4, 1.0), (8, 0.5)), (2, 16)),
        ("BC19", 21.0, 3312.0, ((8, 1.0), (16, 0.5)), (8, 16)),
        ("NQ17", 13.3, 317.0, ((2, 1.5), (4, 1.0)), (1, 8)),
        ("NQ18", 17.0, 2792.0, ((8, 1.0), (16, 0.5)), (8, 16)),
        ("UTS18", 8.4, 191.0, ((2, 1.5), (4, 0.5)), (1, 4)),
        ("UTS19", 15.2, 729.6, ((2, 1.5), (4, 1.0), (8, 1.0)), (2, 16)),
        ("UTS20", 24.0, 2928.0, ((8, 1.0), (16, 0.5)), (8, 16)),
        ("Pi8e10", 3.5, 136.0, ((2, 1.5), (4, 1.0)), (1, 4)),
        ("Pi6e11", 7.3, 1018.7, ((4, 1.5), (8, 1.0), (16, 0.5)), (4, 16)),
        ("Pi1.2e12", 9.5, 1992.0, ((8, 1.0), (16, 0.5)), (8, 16)),
    )
    return tuple(
        Class(name, constant, work, nodes, weight, *elastic)
        for name, constant, work, sizes, elastic in programs
        for nodes, weight in sizes
    )


CLASSES = _classes()


def cost(blocking: bool = False) -> PerUnit:
    """Return the measured cost: seconds for each node added or removed, for registration and for release."""
    return PerUnit(release=2.0, registration=6.04, blocking=blocking, grow=3.75, shrink=2.91)


def workload(seed: int, fraction: float, blocking: bool = False) -> Workload:
    """Return one of the sets; `fraction` of the jobs are malleable."""
    stream = random.Random(seed)  # noqa: S311 - the paper's own draw
    classes = stream.choices(CLASSES, [each.weight for each in CLASSES], k=JOBS)
    arrivals = [stream.randint(0, WINDOW) for _ in range(JOBS)]
    stream.seed(seed)
    malleable = set(stream.sample(range(JOBS), int(JOBS * fraction)))
    pairs = sorted(zip(arrivals, classes, range(JOBS), strict=True))  # at one time by the class's name
    first = pairs[FIRST - 1][0]
    jobs = tuple(
        _job(number, max(0.0, float(time - first)), drawn, index in malleable)
        for number, (time, drawn, index) in enumerate(pairs, 1)
    )
    return Workload(f"apgas-{seed}-{fraction:.0%}", jobs, NODES, "nodes", cost(blocking), TICK)


def _job(number: int, submitted: float, drawn: Class, malleable: bool) -> WorkloadJob:
    return WorkloadJob(
        id=number,
        submitted=submitted,
        min=drawn.min if malleable else drawn.nodes,
        max=drawn.max if malleable else drawn.nodes,
        time=Hyperbolic(drawn.constant, drawn.work),
        limit=LIMIT,
        malleable=malleable,
        kind=drawn.name,
    )
