"""A statistical workload of rigid jobs in the manner of Lublin and Feitelson.

Source: "The workload on parallel supercomputers: modeling the characteristics of rigid jobs", JPDC 63(11),
2003, the parameters of its batch jobs: sizes that favour powers of two, run times of a hyper-gamma
distribution whose mixture depends on the size, arrivals with a daily cycle. Gaps are then stretched to the
asked load, and a share of the jobs is made elastic by the rule of `swf.derived`.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.speedup import Amdahl, Fixed
from queue_policies.simulator.workload import Workload
from queue_policies.simulator.workloads import swf

SERIAL, POWER_OF_TWO = 0.244, 0.576
SIZE_LOW, SIZE_BREAK, SMALL_FRACTION = 0.8, 2.5, 0.86  # log2 of sizes: [low, high - break) in so many cases
SHORT, LONG = (4.2, 0.94), (312.0, 0.03)  # shape and scale of the gammas of ln(run time)
MIX_SLOPE, MIX_BASE = -0.0054, 0.78
GAP = (10.2303, 0.4871)  # of log2(seconds) between arrivals at the busiest time
MAX_RUN_SECONDS = 36 * 3600.0
"""Seconds that a job runs at most."""
DAY = 86_400.0
BUSIEST = 14.0  # hour of the day
DEPTH = 0.8  # how much fewer jobs arrive at the quietest hour
OVERESTIMATES = (1.0, 1.5, 2.0, 3.0, 5.0)


def workload(
    seed: int, jobs: int = 1000, total: int = 128, load: float = 0.8, elastic: float = 0.0
) -> Workload:
    """Return jobs for `total` nodes at a load (work over capacity); the share `elastic` is malleable."""
    stream = random.Random(seed)  # noqa: S311 - a model's
    drawn = [_job(stream, number, total) for number in range(1, jobs + 1)]
    work = sum(job.max * job.time.seconds(job.max) for job in drawn)
    arrivals = _arrivals(stream, jobs)
    stretch = work / (total * load) / arrivals[-1] if jobs > 1 and arrivals[-1] else 1.0
    placed = tuple(job._replace(submitted=at * stretch) for job, at in zip(drawn, arrivals, strict=True))
    made = Workload(f"lublin-{seed}", placed, total)
    if not elastic:
        return made
    ranges = {each.job: each for each in swf.derived(made) if stream.random() < elastic}
    return replace(made, jobs=tuple(_elastic(job, ranges.get(job.id)) for job in placed))


def _job(stream: random.Random, number: int, total: int) -> WorkloadJob:
    size = _size(stream, total)
    fraction = min(max(MIX_SLOPE * size + MIX_BASE, 0.0), 1.0)
    shape, scale = SHORT if stream.random() < fraction else LONG
    run = min(math.exp(min(stream.gammavariate(shape, scale), 20.0)), MAX_RUN_SECONDS)
    return WorkloadJob(number, 0.0, size, size, Fixed(run), run * stream.choice(OVERESTIMATES))


def _size(stream: random.Random, total: int) -> int:
    if total == 1 or stream.random() < SERIAL:
        return 1
    high = math.log2(total)
    middle = max(SIZE_LOW, high - SIZE_BREAK)
    bounds = (SIZE_LOW, middle) if stream.random() < SMALL_FRACTION else (middle, high)
    exponent = stream.uniform(*bounds)
    if stream.random() < POWER_OF_TWO:
        exponent = float(round(exponent))
    return min(max(1, round(2**exponent)), total)


def _arrivals(stream: random.Random, jobs: int) -> list[float]:
    """Return the times of submission, from 0 on; gaps are longer at night."""
    times = [0.0]
    for _ in range(jobs - 1):
        phase = 2 * math.pi * (times[-1] / DAY - BUSIEST / 24)
        rate = 1 - DEPTH * (1 - math.cos(phase)) / 2
        times.append(times[-1] + 2 ** stream.gammavariate(*GAP) / rate)
    return times


def _elastic(job: WorkloadJob, range_: swf.Elasticity | None) -> WorkloadJob:
    if range_ is None or range_.min == range_.max:
        return job
    run = job.time.seconds(job.max)
    model = Amdahl(run / (1 - range_.parallel + range_.parallel / job.max), range_.parallel)
    limit = job.limit * model.seconds(range_.min) / run
    return job._replace(min=range_.min, max=range_.max, time=model, limit=limit, malleable=True)
