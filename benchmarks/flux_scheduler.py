"""Throughput of real Flux with our scheduler (policy `easy`) beside its own sched-backfill, in pairs.

python benchmarks/flux_scheduler.py

One-core jobs with a time limit, `flux submit --cc=1-N` and then until the queue is empty: once `true`, where
launching takes most of the time, and once with an execution that Flux only simulates. Beside jobs a second,
the milliseconds of processor time that the process of the scheduler takes for a job: the load of the machine
hardly changes these.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arguments import policy
from engines import Engine, engines, instance, parser, report, summary

from minicluster import flux_zips

if TYPE_CHECKING:
    import argparse

OURS, THEIRS = "minicluster", "sched-backfill"
LOADS = {
    "launched": ("true",),
    "simulated": ("--setattr=system.exec.test.run_duration=1ms", "true"),
}


class Rate(NamedTuple):
    """How fast jobs went, and what the scheduler took."""

    jobs: float  # a second
    cpu: float  # ms of the scheduler's processor time a job


def measure(engine: Engine, args: argparse.Namespace, scheduler: list[str], words: tuple[str, ...]) -> Rate:
    """Measure a new instance with this scheduler."""
    jobs = args.jobs
    with instance(engine, args.size) as running:
        running.flux("module", "remove", "sched-simple")
        running.flux("module", "load", *scheduler)
        pid = _scheduler(running.brokers[0])
        start, before = time.perf_counter(), _cpu(pid)
        running.flux("submit", "--quiet", f"--cc=1-{jobs}", "-n1", "-c1", "-t", "10m", *words)
        running.flux("queue", "drain")
        seconds, cpu = time.perf_counter() - start, _cpu(pid) - before
        done = running.flux("jobs", "-n", "-a", "-c0", "-f", "completed", "-o", "{id}").split()
        if len(done) != jobs:
            raise SystemExit(f"{scheduler}: {len(done)} of {jobs} jobs completed")
    return Rate(jobs / seconds, cpu / jobs * 1000)


def _scheduler(lead: int) -> int:
    """Return the process of the module: the one of the lead's that is written in Python."""
    for children in Path(f"/proc/{lead}/task").glob("*/children"):
        for pid in map(int, children.read_text().split()):
            if "module-python-exec" in Path(f"/proc/{pid}/cmdline").read_text():
                return pid
    raise SystemExit("the lead broker runs no scheduler as a process of its own")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _figures(ours: list[float], theirs: list[float], digits: int) -> dict[str, object]:
    pairs = zip(ours, theirs, strict=True)
    return {
        OURS: summary(ours, digits),
        THEIRS: summary(theirs, digits),
        "ratio": summary([mine / other for mine, other in pairs], 2),
    }


def main() -> None:
    """Measure in turn, so that a drift of the machine's speed hits both."""
    arguments = parser(__doc__ or "", runs=5)
    arguments.add_argument("--jobs", type=int, default=300)
    arguments.add_argument("--size", type=int, default=4, help="brokers")
    arguments.add_argument("--policy", type=policy, default="easy")
    arguments.add_argument("--load", choices=LOADS, action="append", help="only this (default: all)")
    args = arguments.parse_args()
    with engines(real_flux=True) as (_, flux), tempfile.TemporaryDirectory(prefix="bench-") as directory:
        for name, text in flux_zips.scheduler_files().items():
            (Path(directory) / name).write_text(text)
        (Path(directory) / flux_zips.SCHEDULER_ZIP).write_bytes(flux_zips.pack_scheduler())
        ours = [f"{directory}/minicluster-sched.py", f"policy={args.policy}"]
        results: dict[str, object] = {"jobs": args.jobs, "brokers": args.size, "policy": args.policy}
        for load in args.load or LOADS:
            words = LOADS[load]
            pairs = [
                (measure(flux, args, ours, words), measure(flux, args, [THEIRS], words))
                for _ in range(args.runs)
            ]
            mine, theirs = [each for each, _ in pairs], [each for _, each in pairs]
            results[load] = _figures([each.jobs for each in mine], [each.jobs for each in theirs], 1)
            cpu = _figures([each.cpu for each in mine], [each.cpu for each in theirs], 2)
            results[f"{load}, scheduler's ms a job"] = cpu
    report("flux_scheduler", "jobs/s", results)


if __name__ == "__main__":
    main()
