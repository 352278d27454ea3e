"""What a tightly coupled pair loses as a host, and whether cosched stops sharing its cores.

    python benchmarks/live_coupled.py --seconds 10 --rounds 20 --gate

Two ranks compute, wait and sum a number over both in each millisecond, by MPI_Allreduce where MPICH's library
is there, else over a socket (`exchange` in the output). They leave half of their cores idle, as the programs
do that are good hosts: only what a guest costs them tells them apart.

First the pair runs alone; then under a quota on one rank's core alone, and under static, where it has half of
its two cores: beside a guest of two cores, of one core, and with a whole core each, by affinity. Then cosched
decides: --rounds pairs, one after the other, each with a guest that waits. None has a time limit, so that no
guard helps. With --gate it ends with 1 where more than a fifth of the pairs of the second half have a guest,
and more than half as many as in the first one. It needs a quiet machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import arguments
from engines import report, wait_for
from live_bench import CORES, PROGRAM, Bench, Programs
from live_cluster import live

from minicluster.embedded.execution.rank.enforcement.control_groups import group_name
from minicluster.embedded.execution.rank.enforcement.enforcer import EnforcedJob, enforcer
from minicluster.embedded.execution.rank.enforcement.records import CpuLimit, Way
from minicluster.instance.errors import JobInactive

if TYPE_CHECKING:
    from live_bench import Ran

KIND, GUEST = "coupled", "computes"
NO_READER = Programs((KIND, GUEST))
OF_ONE_CORE = (0.5, 0.25)
"""Quotas on the core of the second rank."""
GUESTS = {
    "beside a guest of two cores": (2, ""),
    "beside a guest of one core": (1, ""),
    "with one whole core": (1, '[minicluster]\ncpu-quotas = "affinity"\n'),
}
"""Sizes, and what broker.toml has."""
OUTLIVES = 4  # times as long as the pair alone a guest would compute, so that the pair ends first
MAX_LATE, OF_EARLY = 0.2, 0.5


@dataclass(frozen=True)
class Round:
    """A pair as it ran."""

    seconds: float
    shared: bool
    enforcement: str = ""


def blocks_for(seconds: float) -> int:
    """Return the blocks of a program that computes so long alone; a coupled one takes about as long."""
    words = [sys.executable, str(PROGRAM), GUEST, "--measure", "0.5"]
    done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return int(max(20, round(seconds * done["blocks"] / done["seconds"])))


def as_round(ran: Ran) -> Round:
    """Return how a pair ran."""
    ways = [str(each.context["enforcement"]) for each in ran.events if each.name == "quota"]
    return Round(ran.seconds, ran.host, ways[0] if ways else "")


def pair(bench: Bench, blocks: int, size: int = 1) -> Round:
    """Run a coupled pair with a guest of so many cores that waits for its cores."""
    host = bench.submit(KIND, CORES, blocks)
    guest = bench.submit(GUEST, size, OUTLIVES * blocks)
    found = as_round(bench.ran(host, KIND, CORES))
    with contextlib.suppress(JobInactive):
        bench.cluster.instance.jobs.cancel(guest)
    bench.cluster.instance.jobs.wait(guest)
    return found


def limited_rank(blocks: int, quota: float) -> float | None:
    """Return the seconds of a pair with a quota on one core; None: no control group may be written here."""
    with live("easy", 1, CORES) as cluster:
        bench = Bench(cluster, NO_READER)
        job = bench.submit(KIND, CORES, blocks)
        pid = second_rank(job)
        found = enforcer(group_name("live_coupled", 1, str(os.getpid())))
        if found.way not in {Way.GROUPS_1, Way.GROUPS_2}:
            cluster.instance.jobs.cancel(job)
            return None
        limited = EnforcedJob(found, job, lambda: [pid])
        try:
            limited.set_limit(CpuLimit(quota, 1))
            limited.adopt(pid)
            return as_round(bench.ran(job, KIND, CORES)).seconds
        finally:
            limited.close()
            wait_for(found.close)


def second_rank(job: int) -> int:
    """Return the process of a job's second task, which begins soon."""
    found: list[int] = []

    def there() -> bool:
        found[:] = [int(each.name) for each in Path("/proc").glob("[0-9]*") if _is_second(each, job)]
        return bool(found)

    if not wait_for(there):
        raise SystemExit("the pair has no second task")
    return found[0]


def _is_second(process: Path, job: int) -> bool:
    try:
        environment = (process / "environ").read_bytes().split(b"\0")
        program = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    ours = any(
        each.startswith(b"MINICLUSTER_JOB=") and each.endswith(f".{job}".encode()) for each in environment
    )
    return ours and b"FLUX_TASK_RANK=1" in environment and str(PROGRAM).encode() in program


def learned(blocks: int, alone: float, rounds: int) -> tuple[list[Round], dict[str, float]]:
    """Return each round of cosched, and the experts' weights in the end."""
    with live(f"cosched:every={max(1.0, alone / 5):g},guard=0", 1, CORES) as cluster:
        bench = Bench(cluster, NO_READER)
        for kind, size in ((KIND, CORES), (GUEST, 1)):  # what is known of the programs
            bench.ran(bench.submit(kind, size, blocks), kind, size)
        found = [pair(bench, blocks) for _ in range(rounds)]
        weights = cluster.instance.links.rpc("minicluster-sched.sharing", {}).get("weights", {})
    return found, weights


def costs(blocks: int, alone: float) -> dict[str, dict[str, float | str]]:
    """Return what quotas cost the pair, by which way."""
    found: dict[str, dict[str, float | str]] = {}
    for quota in OF_ONE_CORE:
        seconds = limited_rank(blocks, quota)
        if seconds is not None:
            found[f"{quota:g} of one rank's core"] = {"slowdown": seconds / alone - 1}
    for name, (size, config) in GUESTS.items():
        with live("static:quota=0.5", 1, CORES, config=config) as cluster:
            each = pair(Bench(cluster, NO_READER), blocks, size)
        found[name] = {"slowdown": each.seconds / alone - 1, "by": each.enforcement}
    return found


def main() -> int:
    """Measure, and print one JSON line."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--seconds", type=arguments.seconds, default=10.0, help="of a pair alone, about")
    parser.add_argument("--rounds", type=arguments.count, default=20, help="of cosched")
    parser.add_argument("--gate", action="store_true", help="end with 1 where something is missed")
    options = parser.parse_args()
    blocks = blocks_for(options.seconds)
    with live("easy", 1, CORES) as cluster:
        bench = Bench(cluster, NO_READER)
        job = bench.submit(KIND, CORES, blocks)
        ran = bench.ran(job, KIND, CORES)
        exchange = json.loads(cluster.output(job).splitlines()[-1])["exchange"]
    alone = ran.seconds
    under = costs(blocks, alone)
    rounds, weights = learned(blocks, alone, options.rounds)
    half = len(rounds) // 2
    early, late = (
        statistics.fmean(each.shared for each in part or rounds) for part in (rounds[:half], rounds[half:])
    )
    missed = late > max(MAX_LATE, OF_EARLY * early)
    report(
        "coupled pair",
        "fractions",
        {
            "exchange": exchange,
            "alone_seconds": alone,
            "cpu_alone": ran.cpu_seconds / alone / CORES,
            "under": under,
            "shared_first_half": early,
            "shared_second_half": late,
            "slowdowns": [round(each.seconds / alone - 1, 3) for each in rounds],
            "shared": [each.shared for each in rounds],
            "weights": weights,
            "missed": missed,
        },
    )
    return int(missed and options.gate)


if __name__ == "__main__":
    sys.exit(main())
