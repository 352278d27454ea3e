"""The second workload of paper B's authors: 30 days of about 2,300 jobs on 128 nodes.

Source: "Enhancing Supercomputer Performance with Malleable Job Scheduling Strategies" (PECS 2023) and its
artefact, which draws the jobs for the simulator ElastiSim: each job from a stream of its own, until their
work fills the cluster for the given time. Run times follow Amdahl's law; sizes are powers of two.
"""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import Amdahl
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 128
DAYS = 30
SEEDS = tuple(f"S{number}" for number in range(10))
TICK = 60.0
SPEED = 1e12  # floating point operations a second, a node
WORK = (5 * 10**12, 4 * 10**17)  # of one job, in operations
PARALLEL = (0.999, 0.995, 0.99, 0.985, 0.98, 0.975, 0.97, 0.965, 0.96, 0.955, 0.95)
EFFICIENCY_MIN, EFFICIENCY_PREFERRED, EFFICIENCY_MAX = 0.95, 0.8, 0.5


class _Drawn(NamedTuple):
    malleable: bool
    submitted: int
    nodes: int
    work: float


@dataclass(frozen=True, slots=True)
class Range:
    """The sizes at which a job is efficient enough, and the share of it that runs in parallel."""

    parallel: float
    min: int
    max: int


def workload(seed: str = "S0", fraction: float = 0.0, days: int = DAYS) -> Workload:
    """Return one of the sets; `fraction` of the jobs, drawn job by job, are malleable."""
    drawn = list(_draw(seed, fraction, days))
    first = min(each.submitted for each in drawn)
    drawn.sort(key=lambda each: each.submitted)
    jobs = tuple(_job(number, each, each.submitted - first) for number, each in enumerate(drawn, 1))
    return Workload(f"elastisim-{seed}-{fraction:.0%}", jobs, NODES, "nodes", tick=TICK)


def _draw(seed: str, fraction: float, days: int) -> Iterator[_Drawn]:
    """Yield jobs until their work at the preferred sizes fills the time, and one more."""
    seconds = days * 86_400
    room = seconds * NODES * SPEED
    taken, number = 0.0, 0
    while True:
        each = _one(f"{seed}{number}", fraction, seconds)
        yield each
        if taken >= room - WORK[1]:
            return
        taken += each.work / _efficiency(each.nodes, sizes(each.nodes).parallel)
        number += 1


def _one(seed: str, fraction: float, seconds: int) -> _Drawn:
    stream = random.Random(seed)  # noqa: S311 - the artefact's own draw
    kind = stream.choices(
        ("rigid", "moldable", "malleable"), (100 - round(100 * fraction), 0, round(100 * fraction))
    )[0]
    submitted = stream.choice(range(seconds))
    nodes = 1 << (stream.choice(range(1, NODES)).bit_length() - 1)
    low, high = WORK
    mean = (nodes - 1) * (high - low) / (NODES - 1) + low
    work = min(max(stream.gauss(mean, (high - low) / 100), low), high)
    return _Drawn(kind == "malleable", submitted, nodes, work)


@functools.cache
def sizes(nodes: int) -> Range:
    """Return the parallel share whose efficiency at `nodes` is the least above 0.8, and its sizes."""
    above = [fraction for fraction in PARALLEL if _efficiency(nodes, fraction) > EFFICIENCY_PREFERRED]
    parallel = min(above, key=lambda fraction: _efficiency(nodes, fraction), default=max(PARALLEL))
    least = most = 1
    for size in range(1, NODES + 1):
        efficiency = _efficiency(size, parallel)
        if efficiency > EFFICIENCY_MIN:
            least = size
        if efficiency <= EFFICIENCY_MAX:
            break
        most = size
    return Range(parallel, min(_power(least), nodes), max(_power(most), nodes))


def _efficiency(nodes: int, parallel: float) -> float:
    return 1 / ((1 - parallel) + parallel / nodes) / nodes


def _power(number: int) -> int:
    return 1 << math.floor(math.log2(number))


def _job(number: int, drawn: _Drawn, submitted: int) -> WorkloadJob:
    range_ = sizes(drawn.nodes)
    return WorkloadJob(
        id=number,
        submitted=float(submitted),
        min=range_.min if drawn.malleable else drawn.nodes,
        max=range_.max if drawn.malleable else drawn.nodes,
        time=Amdahl(drawn.work / SPEED, range_.parallel),
        malleable=drawn.malleable,
        kind=f"{drawn.nodes} nodes",
    )
