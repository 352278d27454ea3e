"""Operators at work: from MiniClusters that are created to all their objects, and what that costs.

    python benchmarks/reconcile.py --reference /path/to/manager
    python benchmarks/reconcile.py --counts 100 --sizes 1 --idle 5

Every measurement has a control plane of its own, on which nothing else happens; for each workload they follow
one another, so that all meet the same machine:

* the limit: a plain client that makes the same MiniClusters and writes the very objects and one status patch
  that the operator of release 0.1.0 wrote, over 32 raw keep-alive connections: with that release's own
  writers.py, out of the history, so that the limit stays the same, whatever our operator saves. Its
  `creations_per_s` goes from its first request to its last answer, so that it contains what the operators'
  contains; `only_objects_per_s` is the same client's rate with MiniClusters that were there before;
* our operator, and the reference where its binary is given, each with 8 connections that create MiniClusters
  (`creations_per_s`: from the first request to all objects present) and, in a run of its own, with one that
  creates them one after the other (`after_last_s`: from the last accepted creation to all objects present).

CPU-seconds are the operator's own, until all objects are present (`cpu_s`) and until it has written nothing
more for 3 s (`cpu_settled_s`); `apiserver_cpu_s` is what the API server used until all objects were present.
`writes` are the operator's requests that write, per MiniCluster, `events` apart; `idle_requests` are those in
`--idle` seconds without work, but for watches and the renewal of its Lease. `load_before` is the machine's
load average: beside other work the rates mean little, and ratios, of runs that follow one another, more.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines import report, summary
from operators import (
    Arrivals,
    Audit,
    Operator,
    Presence,
    Running,
    add_options,
    apiserver_cpu,
    chosen,
    fresh_plane,
    idle_requests,
    ours,
    running,
    writer,
    writes,
)

from tests.devcluster import release_0_1_0

if TYPE_CHECKING:
    from tests.devcluster import ControlPlane

LIMIT_CONNECTIONS = 32
CREATORS = 8
EVENTS = "create events"
QUIET = 3.0
IDLE_TIMEOUT = 120.0  # seconds, at most, until an operator is taken to be idle
TIMEOUT = 900.0  # seconds until all objects must be present

Figures = dict[str, Any]


def show_progress(text: str) -> None:
    """Print progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def limit(count: int, size: int, release: Path) -> Figures:
    """Measure what this API server can do with the requests of the release in that folder."""
    with (
        fresh_plane(ours().crd) as plane,
        writer("limit", plane, release, count=count, size=size, connections=LIMIT_CONNECTIONS) as client,
    ):
        server = apiserver_cpu(plane)
        whole = client.go()
        served = apiserver_cpu(plane) - server
    with fresh_plane(ours().crd) as plane:
        with writer("create", plane, count=count, size=size, connections=CREATORS) as creator:
            creator.go()
        with writer(
            "objects", plane, release, count=count, size=size, connections=LIMIT_CONNECTIONS
        ) as client:
            objects = client.go()
    seconds = whole["last"] - whole["first"]
    return {
        "creations_per_s": round(count / seconds, 1),
        "requests_per_s": round(whole["requests"] / seconds),
        "seconds": round(seconds, 3),
        "client_cpu_s": whole["cpu_s"],
        "apiserver_cpu_s": round(served, 2),
        "only_objects_per_s": round(count / (objects["last"] - objects["first"]), 1),
    }


def burst(operator: Operator, count: int, size: int, idle: float) -> Figures:
    """Measure an operator while 8 connections create MiniClusters, and afterwards."""
    with fresh_plane(operator.crd) as plane, running(operator, plane) as started:
        audit, cpu, server = Audit(plane.audit_log), started.cpu(), apiserver_cpu(plane)
        creation_times, present = create(plane, started, count, size, CREATORS)
        spent, served = started.cpu() - cpu, apiserver_cpu(plane) - server
        requests = audit.until_quiet(QUIET, IDLE_TIMEOUT)
        settled = started.cpu() - cpu
        written = writes(requests)
        events = sum(times for what, times in written.items() if what.startswith(EVENTS))
        figures = {
            "creations_per_s": round(count / (present - creation_times["first"]), 1),
            "seconds": round(present - creation_times["first"], 3),
            "cpu_s": round(spent, 2),
            "cpu_settled_s": round(settled, 2),
            "apiserver_cpu_s": round(served, 2),
            "cpu_ms_per_object": round(1000 * spent / (count * len(operator.kinds)), 3),
            "peak_mb": started.memory("VmHWM"),
            "resident_mb": started.memory("VmRSS"),
            "writes": round((sum(written.values()) - events) / count, 2),
            "events": round(events / count, 2),
            "writes_by_kind": {what: round(times / count, 2) for what, times in sorted(written.items())},
        }
        return figures | (rest(audit, idle) if idle else {})


def rest(audit: Audit, idle: float) -> Figures:
    """Count what an operator asks for while nothing happens."""
    audit.new()
    time.sleep(idle)
    asked = idle_requests(audit.new())
    return {"idle_s": idle, "idle_requests": sum(asked.values()), "idle_by_kind": dict(asked.most_common())}


def one_by_one(operator: Operator, count: int, size: int) -> float:
    """Return the seconds from the last creation's acceptance, of creations in turn, to all objects."""
    with fresh_plane(operator.crd) as plane, running(operator, plane) as started:
        creation_times, present = create(plane, started, count, size, 1)
    return round(present - creation_times["last"], 3)


def create(
    plane: ControlPlane, started: Running, count: int, size: int, connections: int
) -> tuple[dict[str, float], float]:
    """Create MiniClusters; return when that was, and when all objects were present."""
    presence = Presence(plane.api, started.operator)
    jobs = Arrivals(plane.admin, plane.api, count)
    with writer("create", plane, count=count, size=size, connections=connections) as creator:
        jobs.start()
        creation_times = creator.go()
        jobs.wait(started, TIMEOUT)
        while not presence.complete(count):
            started.lives()
            time.sleep(0.02)
        return creation_times, time.monotonic()


def measure(operator: Operator, count: int, size: int, idle: float) -> Figures:
    """Measure an operator with one workload."""
    figures = burst(operator, count, size, idle) | {"after_last_s": one_by_one(operator, count, size)}
    show_progress(
        f"{count} of size {size}: {operator.name} {figures['creations_per_s']}/s, "
        f"{figures['after_last_s']} s after the last, {figures['cpu_s']} CPU-s, {figures['peak_mb']} MB, "
        f"{figures['writes']} writes each, {figures.get('idle_requests', '-')} requests idle"
    )
    return figures


def ratios(found: dict[str, Figures]) -> dict[str, float]:
    """Compare: speeds as a multiple, CPU-seconds for each object and memory as a part of the reference's."""
    mine, theirs = found.get("ours"), found.get("reference")
    compared = [(f"{name}/limit", found[name], found["limit"], "creations_per_s") for name in found]
    if mine and theirs:
        compared += [
            ("ours/reference", mine, theirs, "creations_per_s"),
            ("cpu per object, ours/reference", mine, theirs, "cpu_ms_per_object"),
            ("peak memory, ours/reference", mine, theirs, "peak_mb"),
        ]
    kept = ((label, one[key] / other[key]) for label, one, other, key in compared if other[key])
    return {label: round(ratio, 2) for label, ratio in kept if label != "limit/limit"}


def workload(operators: list[Operator], count: int, size: int, idle: float) -> dict[str, Figures]:
    """Measure the limit and every operator with one workload."""
    load = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as folder:
        release_0_1_0.extract(Path(folder), *release_0_1_0.PACKAGES, "benchmarks", "tests")
        most = limit(count, size, Path(folder))
    found = {"limit": most | {"load_before": load}}
    show_progress(
        f"{count} of size {size} (load {load}): limit {most['creations_per_s']}/s, "
        f"{most['requests_per_s']} requests/s, only the objects {most['only_objects_per_s']}/s"
    )
    return found | {each.name: measure(each, count, size, idle) for each in operators}


def gathered(runs: list[dict[str, Figures]]) -> Figures:
    """Put the runs of a workload together: all figures, and the ratios within each run summed up."""
    pairs = [ratios(run) for run in runs]
    return {name: [run[name] for run in runs] for name in runs[0]} | {
        "ratios": {label: summary([pair[label] for pair in pairs if label in pair], 2) for label in pairs[0]}
    }


def main() -> None:
    """Measure every workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 100, 1000], help="MiniClusters")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8], help="of each MiniCluster")
    parser.add_argument("--runs", type=int, default=1, help="of each workload (default %(default)s)")
    parser.add_argument(
        "--idle", type=float, default=60, help="seconds without work, after the largest count (default 60)"
    )
    args = parser.parse_args()
    operators = chosen(args)
    results: dict[str, object] = {}
    for size in args.sizes:
        for count in args.counts:
            idle = args.idle if count == max(args.counts) else 0
            runs = [workload(operators, count, size, idle) for _ in range(args.runs)]
            results[f"{count} of size {size}"] = gathered(runs)
    report("reconcile", "MiniClusters/s, s, CPU-s, MB", results)


if __name__ == "__main__":
    main()
