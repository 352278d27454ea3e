"""Jobs simulated a second: ours and, in the same run, AccaSim 1.1.3; a large trace; seeds in parallel.

python -m venv /tmp/accasim && /tmp/accasim/bin/pip install accasim==1.1.3
python benchmarks/simulator.py --accasim /tmp/accasim/bin/python

The trace: 5,000 rigid jobs on 16 nodes of 16 cores, as a file in the Standard Workload Format. Within the
measured time both read it, simulate, and write a line a job (AccaSim by its defaults). AccaSim places cores
on nodes, ours counts them; a job may span nodes, so that both find room in the same cases. Ends with 1 where
ours is not 10 times as fast, or the large trace takes more than a minute or a gigabyte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from arguments import count
from engines import report, summary

from queue_policies.simulator import listing
from queue_policies.simulator.experiment import Experiment, SimulationRun, run
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.selection import policy_named
from queue_policies.simulator.workloads import elastisim, lublin, swf

ACCASIM = """
import collections, collections.abc, inspect, json, os, sys, time
collections.Mapping = collections.abc.Mapping
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = inspect.getfullargspec
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator
trace, system, results, name = sys.argv[1:]
kind = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[name]
out, sys.stdout = sys.stdout, open(os.devnull, "w")
start = time.perf_counter()
simulator = Simulator(trace, system, kind(FirstFit()), RESULTS_FOLDER_PATH=results, show_statistics=False)
simulator.start_simulation()
seconds = time.perf_counter() - start
print(json.dumps([seconds, simulator.mapper.finished, simulator.mapper.last_run_time]), file=out)
"""
NODES, CORES = 16, 16
TIMES = 10.0  # so many times as fast ours is to be
LARGE_SECONDS, LARGE_MB = 60.0, 1000.0


def trace(path: Path, jobs: int) -> Path:
    """Write a trace whose load is about 0.8."""
    stream = random.Random(7)
    lines, submitted = [f"; MaxProcs: {NODES * CORES}"], 0
    for number in range(1, jobs + 1):
        cores, seconds = stream.randint(1, 64), stream.randint(10, 600)
        submitted += round(stream.expovariate(1 / 48))
        lines.append(
            f"{number} {submitted} -1 {seconds} {cores} -1 -1 {cores} {seconds * 2} -1 1 1 1 1 1 1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def ours(path: Path, policy: str) -> tuple[float, float]:
    """Seconds of reading and simulating a trace and writing what became of the jobs, and the last end."""
    start = time.perf_counter()
    outcome = simulate(swf.read(str(path)), policy_named(policy))
    listing.write_csv(str(path.with_name("ours.csv")), [SimulationRun(policy, 0, outcome, measure(outcome))])
    return time.perf_counter() - start, outcome.last_end


def theirs(python: str, path: Path, policy: str, jobs: int) -> tuple[float, float]:
    """The same of AccaSim, without the start of its interpreter."""
    system = path.with_name("system.json")
    system.write_text(
        json.dumps(
            {
                "system_name": "bench",
                "start_time": 0,
                "equivalence": {"processor": {"core": 1}},
                "groups": {"node": {"core": CORES}},
                "resources": {"node": NODES},
            }
        )
    )
    script = path.with_name("accasim_run.py")
    script.write_text(ACCASIM)
    command = [python, str(script), str(path), str(system), str(path.parent), policy]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"AccaSim failed:\n{done.stderr[-2000:]}")
    seconds, finished, last_end = json.loads(done.stdout.splitlines()[-1])
    if finished != jobs:
        raise SystemExit(f"AccaSim: {finished} of {jobs} jobs finished")
    return seconds, last_end


def compared(python: str, path: Path, jobs: int, runs: int) -> dict[str, dict[str, Any]]:
    """Jobs a second of both, in turn, for each policy."""
    found: dict[str, dict[str, Any]] = {}
    for policy in ("fcfs", "easy"):
        mine: list[float] = []
        other: list[float] = []
        ends: set[tuple[str, float]] = set()
        for _ in range(runs):
            seconds, last_end = ours(path, policy)
            mine.append(jobs / seconds)
            ends.add(("ours", last_end))
            if python:
                seconds, last_end = theirs(python, path, policy, jobs)
                other.append(jobs / seconds)
                ends.add(("accasim", last_end))
        found[policy] = {"ours": summary(mine, 0), "last_end": dict(sorted(ends))}
        if python:
            times = [a / b for a, b in zip(mine, other, strict=True)]
            found[policy] |= {"accasim": summary(other, 0), "times": summary(times, 1)}
    return found


def large(jobs: int) -> dict[str, float]:
    """Seconds and memory of a large workload, in this process; run it in a fresh one."""
    workload = lublin.workload(1, jobs=jobs, total=640, load=0.9)
    start = time.perf_counter()
    metrics = measure(simulate(workload, policy_named("easy")))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return {
        "seconds": round(seconds, 1),
        "peak_mb": round(peak),
        "utilization": round(metrics.utilization, 3),
    }


def second_workload(runs: int) -> dict[str, float]:
    """Jobs a second on some 2,300 jobs and 128 nodes, the median of so many runs."""
    found: dict[str, float] = {}
    for fraction, policy in ((0.0, "backfill"), (1.0, "min-agreement")):
        workload = elastisim.workload("S0", fraction)
        taken = []
        for _ in range(runs):
            start = time.perf_counter()
            simulate(workload, policy_named(policy))
            taken.append(time.perf_counter() - start)
        found[policy] = round(len(workload.jobs) / statistics.median(taken))
    return found


def parallel(jobs: int) -> dict[str, float]:
    """Seconds of eight seeds of so many jobs, in one process and in one a core."""
    plan = Experiment(f"lublin:jobs={jobs},total=256", ("easy",), tuple(range(8)))
    found = {}
    for processes in (1, os.cpu_count() or 1):
        start = time.perf_counter()
        run(plan, processes)
        found[f"{processes}_processes_s"] = round(time.perf_counter() - start, 2)
    return found


def main() -> None:
    """Measure all; print one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--accasim", default="", metavar="PYTHON", help="a Python that has accasim 1.1.3")
    parser.add_argument("--jobs", type=count, default=5000)
    parser.add_argument("--large", type=count, default=100_000)
    parser.add_argument("--parallel", type=count, default=4000, help="jobs of each of eight seeds")
    parser.add_argument("--runs", type=count, default=3)
    parser.add_argument("--only-large", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_large:
        print(json.dumps(large(args.large)))
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        results = compared(
            args.accasim, trace(Path(directory) / "trace.swf", args.jobs), args.jobs, args.runs
        )
    command = [sys.executable, __file__, "--only-large", "--large", str(args.large)]
    outcome = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    report(
        "simulator",
        "jobs/s",
        {"jobs": args.jobs}
        | results
        | {
            "second_workload": second_workload(args.runs),
            f"large_{args.large}": outcome,
            "parallel": parallel(args.parallel),
        },
    )
    slow = [name for name, each in results.items() if "times" in each and each["times"]["median"] < TIMES]
    if slow or outcome["seconds"] > LARGE_SECONDS or outcome["peak_mb"] > LARGE_MB:
        sys.exit(1)


if __name__ == "__main__":
    main()
