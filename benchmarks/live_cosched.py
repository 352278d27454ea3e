"""Jobs that really share cores on the embedded instance, beside the simulator: easy, static and cosched.

    python benchmarks/live_cosched.py --minutes 20 --plot live.png

Four programs with the profiles of the paper's workflows (`live_programs.py`) on one broker with two cores:
the set of 15 jobs scaled down, --copies of it in random order, all at once, and so long that each policy is
busy for --minutes. Each job is a fixed amount of work. First each program runs alone, at each size: slowdowns
are over that, the simulator is given it, and cosched knows it when it begins. Two of a kind under static show
what sharing costs here beyond the quota.

Under static nothing would end in the limits of the others, so there they are three times as long.

With --gate it ends with 1 where the order of responses is not static, easy, cosched; where a program that
computes used more than 3 points more or less than its quota; or where a quota outlived its guest by a second.
It needs a quiet machine: what else runs takes CPU time from the jobs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import arguments
from engines import picture, report
from live_cluster import ROOT, Cluster, live

from minicluster.instance.records import JobRequest
from queue_policies import decision_log
from queue_policies.errors import PolicyError
from queue_policies.plugins import policies
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.shared_cores import ProgramUse, QuotaContention
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from minicluster.instance.records import Event

PROGRAM = ROOT / "benchmarks" / "live_programs.py"
CORES = 2
SET = {"waits": (1, 1, 2, 2), "computes": (1, 1, 2, 2), "asks": (1, 1, 2, 2), "reads": (1, 2, 2)}
"""The sizes of the set's jobs by program: Montage, BLAST, Statistics and Synthetic."""
HOURS = {"waits": 0.35, "computes": 0.71, "asks": 0.69, "reads": 0.49}
IO = {"waits", "asks"}
TIGHTEST, LOOSEST, MARGIN = 1.1, 1.5, 2.0  # limits over the time alone, and seconds for a start and an end
STATIC_LIMITS = 3.0
LEAST_WINDOW = 4.0  # seconds of which a measured fraction counts
TOLERANCE, LIFT_SECONDS = 0.03, 1.0
TIMEOUT = 3600.0
Key = tuple[str, int]


@dataclass(frozen=True)
class Alone:
    """A program at one size, alone."""

    blocks: int
    seconds: float
    cpu: float
    """The fraction of its cores' time."""


@dataclass(frozen=True)
class Ran:
    """A job as it ran."""

    kind: str
    size: int
    submitted: float
    started: float
    ended: float
    cpu_seconds: float
    returncode: int | None
    host: bool
    guest: bool


@dataclass
class Result:
    """What one policy made of the jobs."""

    jobs: list[Ran]
    quotas: list[tuple[str, float, float]] = field(default_factory=list)
    """Program, quota, and what was used of its host's cores' time in a window under it."""
    lifts: list[float] = field(default_factory=list)
    """Seconds from a guest's end until its host's quota was lifted."""

    def figures(self, alone: Mapping[Key, Alone]) -> dict[str, float]:
        """Return means over the jobs, in seconds and fractions."""
        span = max(job.ended for job in self.jobs) - min(job.submitted for job in self.jobs)
        allocated = sum((job.ended - job.started) * job.size for job in self.jobs if not job.guest)
        slowdowns = [(job.ended - job.started) / alone[job.kind, job.size].seconds - 1 for job in self.jobs]
        return {
            "response": statistics.fmean(job.ended - job.submitted for job in self.jobs),
            "wait": statistics.fmean(job.started - job.submitted for job in self.jobs),
            "makespan": span,
            "cpu_of_allocated": sum(job.cpu_seconds for job in self.jobs) / allocated,
            "slowdown": statistics.fmean(slowdowns),
            "worst_slowdown": max(slowdowns),
            "shared": sum(job.guest for job in self.jobs),
            "failed": sum(job.returncode != 0 for job in self.jobs),
        }


class Bench:
    """A cluster on which programs run."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        self._environment = {**kept, "PYTHONPATH": str(ROOT)}

    def submit(self, kind: str, size: int, blocks: int, limit: float = 0.0) -> int:
        """Submit a job: a task on each of its cores, each with so many blocks."""
        command = (sys.executable, str(PROGRAM), kind, str(blocks))
        request = JobRequest(
            command, size, duration=limit, environment=self._environment, cwd="/", name=f"{kind}-{size}"
        )
        return self.cluster.instance.jobs.submit(request)

    def ran(self, job: int, kind: str, size: int) -> tuple[Ran, list[Event]]:
        """Wait for a job, and return how it ran."""
        ended = self.cluster.instance.jobs.wait(job, TIMEOUT)
        events = self.cluster.log(job)
        done = [json.loads(line) for line in self.cluster.output(job).splitlines() if line.startswith("{")]
        shared = [each.context for each in events if each.name == "co-allocated"]
        found = Ran(
            kind,
            size,
            ended.t_submit,
            ended.t_run,
            ended.t_cleanup,
            sum(each["cpu"] for each in done),
            ended.returncode,
            any("guest" in each for each in shared),
            any("host" in each for each in shared),
        )
        return found, events


def measured_alone(bench: Bench, blocks: Mapping[str, int]) -> dict[Key, Alone]:
    """Run each program once at each size, alone."""
    found = {}
    for kind, sizes in SET.items():
        for size in sorted(set(sizes)):
            ran, _ = bench.ran(bench.submit(kind, size, blocks[kind]), kind, size)
            seconds = ran.ended - ran.started
            found[kind, size] = Alone(blocks[kind], seconds, ran.cpu_seconds / seconds / size)
    return found


def jobs_of(copies: int, seed: int) -> list[tuple[str, int, float]]:
    """Return program, size, and the limit over the time alone, in random order."""
    stream = random.Random(seed)
    made = [(kind, size) for kind, sizes in SET.items() for size in sizes] * copies
    stream.shuffle(made)
    return [(kind, size, stream.uniform(TIGHTEST, LOOSEST)) for kind, size in made]


def run(
    policy: str,
    blocks: Mapping[str, int],
    alone: Mapping[Key, Alone],
    copies: int,
    seed: int,
    directory: Path,
) -> Result:
    """Run all jobs under a policy; cosched first sees each program once alone."""
    decisions = directory / f"decisions-{policy.partition(':')[0]}"
    with live(policy, 1, CORES, "--decisions", str(decisions)) as cluster:
        bench = Bench(cluster)
        if policy.startswith("cosched"):
            measured_alone(bench, blocks)
        stretch = STATIC_LIMITS if policy.startswith("static") else 1.0
        submitted = [
            (
                bench.submit(kind, size, blocks[kind], alone[kind, size].seconds * factor * stretch + MARGIN),
                kind,
                size,
            )
            for kind, size, factor in jobs_of(copies, seed)
        ]
        ran = [bench.ran(*each) for each in submitted]
    kinds = {job: kind for job, kind, _ in submitted}
    by_id = {job: events for (job, _, _), (_, events) in zip(submitted, ran, strict=True)}
    return Result([each for each, _ in ran], list(under_quota(decisions, kinds)), list(lifts(by_id)))


def under_quota(decisions: Path, kinds: Mapping[int, str]) -> Iterator[tuple[str, float, float]]:
    """Yield the last long window of each job under each of its quotas: what it used of the cores' time."""
    found: dict[tuple[int, float], tuple[str, float, float]] = {}
    for line in decisions.read_text().splitlines() if decisions.exists() else ():
        decision = decision_log.decode(line)
        running = decision.state.running
        for job in running.by_order():
            if job.usage is None or job.quota == 1 or decision.now - job.usage.since < LEAST_WINDOW:
                continue
            cores = job.size if job.host is None else running[job.host].size
            used = job.usage.cpu * job.size / cores
            found[job.id, job.usage.since] = (kinds.get(job.id, ""), job.quota, used)
    yield from found.values()


def lifts(by_id: Mapping[int, Sequence[Event]]) -> Iterator[float]:
    """Yield how long after a guest's end its host's quota was lifted."""
    for events in by_id.values():
        for before, after in itertools.pairwise(
            each for each in events if each.name in ("released", "quota")
        ):
            if before.name == "released" and after.name == "quota" and after.context["fraction"] == 1:
                yield after.timestamp - before.timestamp


def contention(alone: Mapping[Key, Alone], pairs: Mapping[str, float]) -> QuotaContention:
    """Return what sharing costs here: two that compute show what any neighbour does, two that read memory."""
    programs = {
        kind: ProgramUse(
            max(0.01, statistics.fmean(each.cpu for (name, _), each in alone.items() if name == kind)),
            1.0 if kind == "reads" else 0.0,
            kind in IO,
        )
        for kind in SET
    }
    base = max(0.0, pairs["computes"] - 1)
    return QuotaContention(programs, base, max(0.0, pairs["reads"] - 1 - base), 0.0, interval=1.0)


def measured_pairs(blocks: Mapping[str, int], alone: Mapping[Key, Alone]) -> dict[str, float]:
    """Return by how much two of a kind on both cores, each with half of their time, are slower than that."""
    found = {}
    with live("static", 1, CORES) as cluster:
        bench = Bench(cluster)
        for kind in ("computes", "reads"):
            jobs = [bench.submit(kind, CORES, blocks[kind]) for _ in range(2)]
            seconds = [ran.ended - ran.started for ran, _ in (bench.ran(job, kind, CORES) for job in jobs)]
            found[kind] = statistics.fmean(seconds) / (2 * alone[kind, CORES].seconds)
    return found


def predicted(
    policy: str, alone: Mapping[Key, Alone], model: QuotaContention, copies: int, seed: int
) -> dict[str, float]:
    """Return what the simulator makes of the same jobs."""
    jobs = tuple(
        WorkloadJob(
            number,
            0.0,
            size,
            size,
            Fixed(alone[kind, size].seconds),
            alone[kind, size].seconds * factor,
            kind=kind,
        )
        for number, (kind, size, factor) in enumerate(jobs_of(copies, seed), 1)
    )
    workload = Workload("live", jobs, CORES, "cores", contention=model, soft_limits=True)
    found = measure(simulate(workload, policy_named(policy)))
    return {"response": found.turnaround, "wait": found.wait, "makespan": found.makespan}


def calibrated(minutes: float, copies: int) -> dict[str, int]:
    """Return the blocks of each program, so that one policy takes about so many minutes."""
    wanted = minutes * 60 * CORES / copies
    unit = wanted / sum(HOURS[kind] * sum(sizes) for kind, sizes in SET.items())
    rate = {}
    for kind in SET:
        words = [sys.executable, str(PROGRAM), kind, "--measure", "0.5"]
        done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        rate[kind] = done["blocks"] / done["seconds"]
    return {kind: max(20, round(HOURS[kind] * unit * rate[kind])) for kind in SET}


def gates(results: Mapping[str, Result], figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return what is missed."""
    missed = []
    response = [figures[name]["response"] for name in ("static", "easy", "cosched")]
    if response != sorted(response, reverse=True):
        missed.append(f"responses of static, easy, cosched: {response}")
    for name, result in results.items():
        for kind, quota, used in result.quotas:
            if kind == "computes" and abs(used - quota) > TOLERANCE:
                missed.append(f"{name}: {kind} used {used:.3f} under a quota of {quota:.3f}")
        late = [each for each in result.lifts if each > LIFT_SECONDS]
        if late:
            missed.append(f"{name}: a quota was lifted after {max(late):.2f} s")
    return missed


def words_of(every: float) -> dict[str, str]:
    """Return the policies, of which those that are not installed are an error."""
    known = policies()
    if missing := {"easy", "static", "cosched"} - known.keys():
        raise PolicyError(f"there is no policy {', '.join(sorted(missing))}")
    return {"static": "static", "easy": "easy", "cosched": f"cosched:every={every:g}"}


def main() -> int:
    """Measure, and print one JSON line."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="of each policy, about")
    parser.add_argument("--copies", type=arguments.count, default=3, help="of the set of 15 jobs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=picture, help="draw who ran when into this file")
    parser.add_argument("--gate", action="store_true", help="end with 1 where something is missed")
    options = parser.parse_args()
    begin = time.monotonic()
    blocks = calibrated(options.minutes, options.copies)
    with live("easy", 1, CORES) as cluster:
        alone = measured_alone(Bench(cluster), blocks)
    pairs = measured_pairs(blocks, alone)
    every = max(1.0, statistics.fmean(each.seconds for each in alone.values()) / 5)
    results, figures, expected = {}, {}, {}
    with tempfile.TemporaryDirectory() as directory:
        for name, policy in words_of(every).items():
            results[name] = run(policy, blocks, alone, options.copies, options.seed, Path(directory))
            figures[name] = results[name].figures(alone)
            expected[name] = predicted(policy, alone, contention(alone, pairs), options.copies, options.seed)
    missed = gates(results, figures)
    report(
        "live co-scheduling",
        "seconds",
        {
            "alone": {f"{kind}-{size}": asdict(each) for (kind, size), each in alone.items()},
            "pairs": pairs,
            "actual": figures,
            "simulated": expected,
            "quotas": {name: len(result.quotas) for name, result in results.items()},
            "quota_error": {name: _worst(result) for name, result in results.items()},
            "lift_seconds": {name: max(result.lifts, default=0.0) for name, result in results.items()},
            "missed": missed,
            "took": time.monotonic() - begin,
        },
    )
    if options.plot:
        from live_plot import plot  # noqa: PLC0415 - the figures come without

        plot({name: result.jobs for name, result in results.items()}, figures, expected, options.plot)
    return int(bool(missed) and options.gate)


def _worst(result: Result) -> float:
    """Return the greatest difference from a quota of a program that computes all the time."""
    return max((abs(used - quota) for kind, quota, used in result.quotas if kind == "computes"), default=0.0)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
