"""Paper A's 16 jobs under its four variants: really run on the embedded instance, beside the simulator.

    python benchmarks/sixteen_jobs.py --plot sixteen.png

The jobs are those of the workload's generator (seed 42, the first set), their times scaled down (--scale).
Each is examples/jacobi: it computes a small plate, whose rows really move and whose result is checked, and
each of its iterations waits until the time is over that the paper's table has for its size, scaled. One
worker stands for two slots (all sizes are even): 30 processes at most run at once, 15 on each of two brokers,
on any number of cores.

On a real machine processes take time to start and to end, far more of a scaled run than of the paper's. So
first that is measured here: jobs of 1, 8 and 30 workers and resizes of one, each alone. With these costs the
simulator predicts. Ends with 1 where an actual total is off by more than --gate.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import arguments
from engines import picture, report
from live_cluster import Cluster, live, sizes_printed

from queue_policies.simulator.cost import Cost, ResizeCost
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.outcome import JobOutcome, RunOutcome
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.speedup import PiecewiseLinear
from queue_policies.simulator.workloads import charm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.instance.records import Event
    from queue_policies.simulator.job import WorkloadJob
    from queue_policies.simulator.workload import Workload

SLOTS = 2  # that one worker stands for
WORKERS, BROKERS = charm.SLOTS // SLOTS, 2
STEP = (
    0.1  # seconds of an iteration at a job's largest size: there are fewer and longer ones than in the paper
)
FEWEST = 5
METRICS = {
    "total": "makespan",
    "response": "weighted_wait",
    "completion": "weighted_turnaround",
    "utilization": "utilization",
}


def variants(rescale_gap: float) -> dict[str, str]:
    """Return the policy of each variant of the paper."""
    return {
        "min": "rigid-min",
        "max": "rigid-max",
        "moldable": "moldable",
        "elastic": f"priority-elastic:gap={rescale_gap:g}",
    }


def workload(number: int, jobs: int, gap: float, scale: float) -> Workload:
    """Return a set of the paper's jobs, sizes in workers, times scaled."""
    drawn = next(itertools.islice(charm.draws(number + 1), number, None))[:jobs]
    made = charm.workload(drawn, gap)
    return replace(made, jobs=tuple(_scaled(job, scale) for job in made.jobs), total=WORKERS, unit="workers")


def _scaled(job: WorkloadJob, scale: float) -> WorkloadJob:
    time = job.time
    if not isinstance(time, PiecewiseLinear):
        raise TypeError(f"job {job.id} has no table of times")
    points = tuple((size // SLOTS, seconds) for size, seconds in time.points)
    return job._replace(
        submitted=job.submitted * scale,
        min=job.min // SLOTS,
        max=job.max // SLOTS,
        time=PiecewiseLinear(points, time.scale * scale),
    )


def iterations(job: WorkloadJob) -> int:
    """Return how many the job does here."""
    return max(FEWEST, round(job.time.seconds(job.max) / STEP))


def pace(job: WorkloadJob) -> dict[int, float]:
    """Return the seconds of one iteration at each size."""
    return {size: job.time.seconds(size) / iterations(job) for size in range(job.min, job.max + 1)}


# What starting and resizing cost here.


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds by a number of workers."""

    base: float
    unit: float

    def at(self, workers: int) -> float:
        """For so many workers."""
        return max(0.0, self.base + self.unit * workers)

    @classmethod
    def through(cls, points: Iterable[tuple[int, float]]) -> Line:
        """Return the least-squares line."""
        known = list(points)
        x = sum(each for each, _ in known) / len(known)
        y = sum(each for _, each in known) / len(known)
        spread = sum((each - x) ** 2 for each, _ in known)
        unit = sum((each - x) * (seconds - y) for each, seconds in known) / spread
        return cls(y - unit * x, unit)


@dataclass(frozen=True, slots=True)
class Measured(Cost):
    """`whole`: what a job takes besides its iterations, by its size. `grow`, `shrink`: what orders take, by
    the workers that come or go, besides waiting for the end of an iteration, where the program listens."""

    whole: Line = Line(0.0, 0.0)
    grow: Line = Line(0.0, 0.0)
    shrink: Line = Line(0.0, 0.0)

    def start(self, job: WorkloadJob, size: int, workers: int = 1) -> float:  # noqa: ARG002 - all alike
        """Seconds without progress."""
        return self.whole.at(size)

    def resize(self, job: WorkloadJob, old: int, new: int) -> ResizeCost:
        """The computation goes on meanwhile: on average half an iteration until the order is received."""
        half = job.time.seconds(old) / iterations(job) / 2
        if new > old:  # and another until the new workers are taken on
            return ResizeCost(delay=2 * half + self.grow.at(new - old))
        return ResizeCost(delay=half + self.shrink.at(old - new))


def measured() -> Measured:
    """Measure what jobs cost on this machine while nothing else runs."""
    quick = {1: 0.02}
    with live("priority-elastic:gap=0", BROKERS, WORKERS // BROKERS) as cluster:
        whole = []
        for size in (1, 8, WORKERS):
            job = cluster.jacobi((size, size), 20, quick)
            cluster.ended_well(job)
            at = {event.name: event.timestamp for event in cluster.log(job)}
            whole.append((size, at["free"] - at["alloc"] - 20 * quick[1]))
        log = _resized(cluster, quick)
    changes: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    size = 1
    for ordered, done in zip(_named(log, "resize-order"), _named(log, "resource-update"), strict=True):
        change = done.context["size"] - size
        changes[change > 0].append((abs(change), done.timestamp - ordered.timestamp))
        size = done.context["size"]
    line = Line.through(whole)
    return Measured(
        registration=line.at(8),
        whole=line,
        grow=Line.through(changes[True]),
        shrink=Line.through(changes[False]),
    )


def _resized(cluster: Cluster, quick: Mapping[int, float]) -> Sequence[Event]:
    """Have a job of one worker grow by 7 and 22, shrink and grow by as many; return its events."""
    holders = [cluster.rigid(size, "sleep", "inf") for size in (7, 22)]
    for holder in holders:
        cluster.wait_for_event(holder, "start")
    job = cluster.jacobi((1, WORKERS), 100_000, quick)
    cluster.wait_for_event(job, "start")
    for count, holder in enumerate(holders, 1):
        cluster.instance.jobs.cancel(holder)
        cluster.wait_for_event(job, "resource-update", count)
    for count, size in ((4, 7), (6, 22)):
        cluster.ended_well(cluster.rigid(size, "true"))
        cluster.wait_for_event(job, "resource-update", count)
    log = cluster.log(job)
    cluster.instance.jobs.cancel(job)
    cluster.instance.jobs.wait(job)
    return log


def _named(log: Iterable[Event], name: str) -> list[Event]:
    return [event for event in log if event.name == name]


# What really happens.


def actual(policy: str, jobs: Workload) -> RunOutcome:
    """Run all jobs; return what became of them."""
    with live(policy, BROKERS, WORKERS // BROKERS) as cluster:
        begin, ids = time.monotonic(), []
        for job in jobs.jobs:
            time.sleep(max(0.0, begin + job.submitted - time.monotonic()))
            ids.append(cluster.jacobi((job.min, job.max), iterations(job), pace(job), job.priority))
        for number in ids:
            cluster.ended_well(number)
        found = [_outcome(job, cluster, number) for job, number in zip(jobs.jobs, ids, strict=True)]
    first = min(job.submitted for job in found)
    return RunOutcome(
        jobs.name, policy, 0, jobs.total, jobs.unit, tuple(_from(first, each) for each in found), 0
    )


def _outcome(job: WorkloadJob, cluster: Cluster, number: int) -> JobOutcome:
    log, sizes = cluster.log(number), sizes_printed(cluster.output(number))
    had = [sizes[0], *(event.context["size"] for event in _named(log, "resource-update"))]
    if sizes != had:
        raise SystemExit(f"job {job.id} says that it ran on {sizes} workers; by its eventlog it had {had}")
    at = {event.name: event.timestamp for event in log}
    changes = list(itertools.pairwise(had))
    return JobOutcome(
        job.id,
        job.kind,
        job.user,
        job.priority,
        at["submit"],
        at["alloc"],
        at["finish"],
        "completed",
        tuple(_allocation_steps(log, had[0])),
        grows=sum(later > earlier for earlier, later in changes),
        shrinks=sum(later < earlier for earlier, later in changes),
        refusals=len(_named(log, "resize-refused")) + len(_named(log, "resize-expired")),
    )


def _allocation_steps(log: Iterable[Event], size: int) -> Iterator[tuple[float, int]]:
    """From when on how much was held; what a job grows into is held from the order on."""
    for event in log:
        if event.name == "alloc":
            yield event.timestamp, size
        elif event.name == "resize-order" and event.context["size"] > size:
            yield event.timestamp, event.context["size"]
        elif event.name == "resource-update":
            size = event.context["size"]
            yield event.timestamp, size
        elif event.name in ("resize-refused", "resize-expired"):
            yield event.timestamp, size
        elif event.name == "free":
            yield event.timestamp, 0


def _from(first: float, job: JobOutcome) -> JobOutcome:
    return job._replace(
        submitted=job.submitted - first,
        started=job.started - first,
        ended=job.ended - first,
        sizes=tuple((when - first, size) for when, size in job.sizes),
    )


# Both beside each other.


def figures(outcome: RunOutcome) -> dict[str, float]:
    """Return what is compared, by the paper's names, and how many resizes there were."""
    found = measure(outcome)
    named = {name: round(getattr(found, metric), 3) for name, metric in METRICS.items()}
    return named | {"grows": found.grows, "shrinks": found.shrinks, "refusals": found.refusals}


def deviations(real: RunOutcome, predicted: RunOutcome) -> dict[str, float]:
    """Return by which share the actual figures are off."""
    ours, theirs = figures(real), figures(predicted)
    return {name: round(ours[name] / theirs[name] - 1, 4) for name in METRICS if theirs[name]}


def compared(real: RunOutcome, predicted: RunOutcome) -> dict[str, object]:
    """Return the figures of both, and the deviations."""
    return {
        "actual": figures(real),
        "simulated": figures(predicted),
        "deviation": deviations(real, predicted),
    }


def main() -> None:
    """Run and simulate each variant."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "--scale", type=arguments.seconds, default=0.03, help="seconds here for one of the paper's"
    )
    parser.add_argument(
        "--gap", type=arguments.seconds, default=180.0, help="seconds of the paper's between submissions"
    )
    parser.add_argument(
        "--rescale-gap", type=arguments.seconds, default=180.0, help="likewise, between two actions on a job"
    )
    parser.add_argument("--set", type=int, default=0, help="which set of the generator's")
    parser.add_argument("--jobs", type=arguments.count, default=charm.JOBS, help="only so many of it")
    parser.add_argument("--variant", action="append", choices=variants(0), help="only this; may be repeated")
    parser.add_argument("--gate", type=float, default=0.1, help="by which share a total may be off")
    parser.add_argument("--plot", type=picture, metavar="FILE.png")
    args = parser.parse_args()
    jobs = workload(args.set, args.jobs, args.gap, args.scale)
    cost = measured()
    words = variants(args.rescale_gap * args.scale)
    pairs: dict[str, tuple[RunOutcome, RunOutcome]] = {}
    for name in args.variant or words:
        predicted = simulate(replace(jobs, cost=cost), policy_named(words[name]))
        pairs[name] = (actual(words[name], jobs), predicted)
        print(f"{name}: {compared(*pairs[name])}", file=sys.stderr)
    results = {name: compared(*pair) for name, pair in pairs.items()}
    if args.plot:
        from sixteen_plot import plot  # noqa: PLC0415 - the figures come without

        plot(pairs, args.plot)
        print(f"plotted to {args.plot}", file=sys.stderr)
    outside = [name for name, pair in pairs.items() if abs(deviations(*pair)["total"]) > args.gate]
    about = {"scale": args.scale, "gap": args.gap, "rescale_gap": args.rescale_gap, "set": args.set}
    costs = {
        each: {"base": round(line.base, 3), "worker": round(line.unit, 4)}
        for each, line in (("whole", cost.whole), ("grow", cost.grow), ("shrink", cost.shrink))
    }
    report(
        "sixteen jobs, actual and simulated", "s", about | {"costs": costs, "outside_gate": outside} | results
    )
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()
