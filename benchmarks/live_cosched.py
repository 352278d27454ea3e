"""Jobs that really share cores on the embedded instance, beside the simulator: easy, static and cosched.

    python benchmarks/live_cosched.py --minutes 20 --plot live.png

Four programs (`live_programs.py`) on one broker with two cores: two that compute, one that mostly waits for a
socket, one that reads memory, as much as a cache has room for beside its other task. --sets of the paper's 15
jobs, scaled down, one set after the other, each in random order and all at once, and so long that each policy
is busy for --minutes. Each job is a fixed amount of work. First each program runs alone, at each size, with a
part of it: slowdowns are over that, the simulator is given it, and cosched knows it when it begins. Two of a
kind on the same cores under static show what sharing costs here beyond the quota.

The two tasks of a job wait for each other every few milliseconds, as those of parallel programs do, but for
the program that waits for a socket. That is what sharing costs here. With --apart they do not: then it costs
nothing, and static is faster than EASY, in the simulation as well.

Under static nothing would end in the limits of the others, so there they are three times as long.

With --gate it ends with 1 where the order of responses is not static, easy, cosched; where a job failed;
where a program that never waits used more than 3 points more or less than its quota; or where a quota
outlived its guest by a second. It needs a C compiler, and a quiet machine: what else runs takes CPU time and
caches from the jobs.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import arguments
from engines import picture, report
from live_bench import (
    CORES,
    HALF,
    SET,
    Alone,
    Bench,
    Key,
    Programs,
    Ran,
    Work,
    calibrated,
    jobs_of,
    measured_alone,
    measured_doubled,
    name_of,
    programs,
)
from live_cluster import live

from minicluster.embedded.execution.rank.enforcement.control_groups import group_name
from queue_policies import decision_log
from queue_policies.simulator.job import WorkloadJob
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.shared_cores import ProgramUse, QuotaContention
from queue_policies.simulator.simulation_options import SimulationOptions
from queue_policies.simulator.speedup import Fixed
from queue_policies.simulator.workload import Workload

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from queue_policies.records import RunningJob

POLICIES = ("static", "easy", "cosched")
GROUPS = Path("/sys/fs/cgroup")
WAITING = "asks"
"""The other programs would use all that they get."""
MARGIN = 2.0  # seconds of a limit for a start and an end
STATIC_LIMITS = 3.0
LEAST_WINDOW = 4.0  # seconds of which a measured fraction counts
TOLERANCE, LIFT_SECONDS = 0.03, 1.0


@dataclass
class Result:
    """What one policy made of the jobs."""

    sets: list[list[Ran]]
    quotas: list[tuple[str, float, float]] = field(default_factory=list)
    """Program, quota, and what was used of its host's cores' time in a window under it."""
    usage: dict[str, float] = field(default_factory=dict)
    """What the broker measured of each program that had its cores alone, at a mean."""
    left: list[str] = field(default_factory=list)
    """Control groups of the broker that there are after its end."""

    @property
    def jobs(self) -> list[Ran]:
        """All of them."""
        return [job for jobs in self.sets for job in jobs]

    @property
    def lifts(self) -> list[float]:
        """Seconds from a guest's end until its host's quota was lifted."""
        return [each for job in self.jobs for each in _lifts(job)]

    def figures(self, alone: Mapping[Key, Alone]) -> dict[str, float]:
        """Return means over the jobs, in seconds and fractions, and the sum of the sets' makespans."""
        jobs = self.jobs
        allocated = sum(job.seconds * job.size for job in jobs if not job.guest)
        slowdowns = [job.seconds / alone[job.kind, job.size].seconds - 1 for job in jobs]
        return {
            "response": statistics.fmean(job.ended - job.submitted for job in jobs),
            "wait": statistics.fmean(job.started - job.submitted for job in jobs),
            "makespan": sum(
                max(job.ended for job in each) - min(job.submitted for job in each) for each in self.sets
            ),
            "cpu_of_allocated": sum(job.cpu_seconds for job in jobs) / allocated,
            "slowdown": statistics.fmean(slowdowns),
            "worst_slowdown": max(slowdowns),
            "shared": sum(job.guest for job in jobs),
            "failed": sum(job.returncode != 0 for job in jobs),
        }


def run(
    policy: str,
    works: Mapping[str, Work],
    alone: Mapping[Key, Alone],
    seeds: Sequence[int],
    made: Programs,
    directory: Path,
    limits: float = 1.0,
) -> Result:
    """Run all sets under a policy; cosched first sees each program once alone."""
    name = policy.partition(":")[0]
    decisions = directory / f"decisions-{name}"
    stretch = limits * (STATIC_LIMITS if name == "static" else 1.0)
    sets: list[list[Ran]] = []
    kinds: dict[int, str] = {}
    with live(policy, 1, CORES, "--decisions", str(decisions)) as cluster:
        bench = Bench(cluster, made)
        if name == "cosched":
            bench.alone(works)
        for seed in seeds:
            submitted = {}
            for kind, size, factor in jobs_of(made.kinds, seed):
                limit = alone[kind, size].seconds * factor * stretch + MARGIN
                submitted[bench.submit(kind, size, works[kind].blocks, limit)] = (kind, size)
            sets.append([bench.ran(job, *each) for job, each in submitted.items()])
            kinds |= {job: kind for job, (kind, _) in submitted.items()}
        prefix = group_name(cluster.instance.life.attributes()["rundir"], 0, "").prefix
    left = [str(each) for each in GROUPS.rglob(f"{prefix}*")]
    return Result(sets, list(under_quota(decisions, kinds)), usage(decisions, kinds), left)


def under_quota(decisions: Path, kinds: Mapping[int, str]) -> Iterator[tuple[str, float, float]]:
    """Yield the last long window of each job under each of its quotas: what it used of the cores' time."""
    found: dict[tuple[int, float], tuple[str, float, float]] = {}
    for job, cores, since in _windows(decisions):
        if job.id in kinds and job.quota < 1 and job.usage is not None:
            found[job.id, since] = (kinds[job.id], job.quota, job.usage.cpu * job.size / cores)
    yield from found.values()


def usage(decisions: Path, kinds: Mapping[int, str]) -> dict[str, float]:
    """Return what was measured of each program, of the cores' time, where it had no quota."""
    last: dict[int, float] = {}
    for job, _, _ in _windows(decisions):
        if job.id in kinds and job.quota == 1 and job.host is None and job.usage is not None:
            last[job.id] = job.usage.cpu
    by_kind: dict[str, list[float]] = {}
    for number, used in last.items():
        by_kind.setdefault(kinds[number], []).append(used)
    return {kind: statistics.fmean(each) for kind, each in sorted(by_kind.items())}


def _windows(decisions: Path) -> Iterator[tuple[RunningJob, int, float]]:
    """Yield the running jobs of all decisions whose usage is of a long window, with their hosts' cores, and
    when the window began."""
    for line in decisions.read_text().splitlines() if decisions.exists() else ():
        decision = decision_log.decode(line)
        running = decision.state.running
        for job in running.by_order():
            if job.usage is not None and decision.now - job.usage.since >= LEAST_WINDOW:
                yield job, job.size if job.host is None else running[job.host].size, job.usage.since


def _lifts(job: Ran) -> Iterator[float]:
    events = [each for each in job.events if each.name in {"released", "quota"}]
    for before, after in itertools.pairwise(events):
        if before.name == "released" and after.name == "quota" and after.context["fraction"] == 1:
            yield after.timestamp - before.timestamp


def contention(alone: Mapping[Key, Alone], doubled: Mapping[Key, float]) -> QuotaContention:
    """Return what sharing costs here, by two of a kind on the same cores.

    Of jobs of one task those that compute show what any neighbour costs, and `reads` what memory does. What
    two tasks lose by waiting for each other is the rest.
    """
    computing = [doubled[kind, 1] - 1 for kind in ("computes", "multiplies") if (kind, 1) in doubled]
    base = max(0.0, statistics.fmean(computing or [0.0]))
    memory = max(0.0, doubled.get(("reads", 1), 1.0) - 1 - base)
    uses = {
        name_of(kind, size): ProgramUse(
            max(0.01, each.cpu),
            1.0 if kind == "reads" else 0.0,
            kind == WAITING,
            max(0.0, (doubled[kind, size] - doubled[kind, 1]) / (1 - HALF)),
        )
        for (kind, size), each in alone.items()
    }
    return QuotaContention(uses, base, memory, 0.0, interval=1.0)


def predicted(
    policy: str, alone: Mapping[Key, Alone], model: QuotaContention, seeds: Sequence[int]
) -> dict[str, float]:
    """Return what the simulator makes of the same sets."""
    rows, memory = [], None
    programs_of_set = list(dict.fromkeys(kind for kind, _ in alone))
    for seed in seeds:
        jobs = tuple(
            WorkloadJob(
                number,
                0.0,
                size,
                size,
                Fixed(alone[kind, size].seconds),
                alone[kind, size].seconds * factor,
                kind=name_of(kind, size),
            )
            for number, (kind, size, factor) in enumerate(jobs_of(programs_of_set, seed), 1)
        )
        workload = Workload("live", jobs, CORES, "cores", contention=model, soft_limits=True)
        outcome = simulate(workload, policy_named(policy), SimulationOptions(memory=memory))
        memory = outcome.memory
        rows.append(measure(outcome))
    return {
        "response": statistics.fmean(each.turnaround for each in rows),
        "wait": statistics.fmean(each.wait for each in rows),
        "makespan": sum(each.makespan for each in rows),
    }


def gates(results: Mapping[str, Result], figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return what is missed."""
    missed = []
    response = [figures[name]["response"] for name in POLICIES if name in figures]
    if response != sorted(response, reverse=True):
        missed.append(f"responses of {', '.join(POLICIES)}: {response}")
    for name, result in results.items():
        if failed := figures[name]["failed"]:
            missed.append(f"{name}: {failed} jobs failed")
        for kind, quota, used in result.quotas:
            if used - quota > TOLERANCE or (kind != WAITING and quota - used > TOLERANCE):
                missed.append(f"{name}: {kind} used {used:.3f} under a quota of {quota:.3f}")
        if result.left:
            missed.append(f"{name}: control groups are left: {', '.join(result.left)}")
        late = [each for each in result.lifts if each > LIFT_SECONDS]
        if late:
            missed.append(f"{name}: a quota was lifted after {max(late):.2f} s")
    return missed


class Measured(NamedTuple):
    """What a run of the benchmark found."""

    before: dict[str, Any]
    """Of the machine, and of programs alone and beside their like."""
    results: dict[str, Result]
    figures: dict[str, dict[str, float]]
    expected: dict[str, dict[str, float]]
    """By the simulator."""


def measured(options: argparse.Namespace, directory: Path) -> Measured:
    """Measure programs, then run each policy."""
    seeds = range(options.seed, options.seed + options.sets)
    made = replace(programs(options.program or list(SET), directory), apart=options.apart)
    works = calibrated(options.minutes, options.sets, made)
    alone = measured_alone(works, made)
    doubled = measured_doubled(works, alone, made)
    model = contention(alone, doubled)
    every = max(1.0, statistics.fmean(each.seconds for each in alone.values()) / 5)
    results, expected = {}, {}
    for policy in options.policy or (*POLICIES[:2], f"cosched:every={every:g}"):
        name = policy.partition(":")[0]
        results[name] = run(policy, works, alone, seeds, made, directory, options.limits)
        expected[name] = predicted(policy, alone, model, seeds)
    before = {
        "reads_bytes": made.reads,
        "alone": {name_of(*key): asdict(each) for key, each in alone.items()},
        "doubled": {name_of(*key): each for key, each in doubled.items()},
        "exchange": sorted({job.exchange for result in results.values() for job in result.jobs} - {""}),
    }
    figures = {name: result.figures(alone) for name, result in results.items()}
    return Measured(before, results, figures, expected)


def main() -> int:
    """Measure, and print one JSON line."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="of each policy, about")
    parser.add_argument("--sets", type=arguments.count, default=3, help="of 15 jobs, one after the other")
    parser.add_argument("--seed", type=int, default=0, help="of the first set")
    parser.add_argument("--program", choices=SET, action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--policy", type=arguments.policy, action="append", help="only this one; may be repeated"
    )
    parser.add_argument("--apart", action="store_true", help="the tasks of a job do not wait for each other")
    parser.add_argument("--limits", type=float, default=1.0, help="time limits are so many times as long")
    parser.add_argument("--plot", type=picture, help="draw who ran when into this file")
    parser.add_argument("--gate", action="store_true", help="end with 1 where something is missed")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mcb-") as directory:
        before, results, figures, expected = measured(options, Path(directory))
    missed = gates(results, figures)
    report(
        "live co-scheduling",
        "seconds",
        {
            **before,
            "actual": figures,
            "simulated": expected,
            "usage": {name: result.usage for name, result in results.items()},
            "quotas": {name: len(result.quotas) for name, result in results.items()},
            "quota_error": {name: _worst(result) for name, result in results.items()},
            "lift_seconds": {name: max(result.lifts, default=0.0) for name, result in results.items()},
            "missed": missed,
            "took": time.monotonic() - begin,
        },
    )
    if options.plot:
        from live_plot import plot  # noqa: PLC0415 - the figures come without

        plot({name: result.sets for name, result in results.items()}, figures, expected, options.plot)
    return int(bool(missed) and options.gate)


def _worst(result: Result) -> float:
    """Return the greatest difference from a quota of a program that never waits."""
    return max((abs(used - quota) for kind, quota, used in result.quotas if kind != WAITING), default=0.0)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
