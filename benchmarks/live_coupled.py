"""What a tightly coupled pair loses as a host, and whether cosched stops sharing its cores.

    python benchmarks/live_coupled.py --seconds 20 --rounds 12

Two tasks exchange a word after each millisecond of work, as ranks do in an Allreduce: where one waits for
its quota, both wait. First the pair runs alone; then under static with a guest that computes. Then cosched
decides: --rounds pairs, one after the other, each with a guest that waits. How often it shares is printed for
the first and the second half of them, with the weights of its experts.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import arguments
from engines import report
from live_bench import CORES, PROGRAM, Bench, Programs
from live_cluster import live

from minicluster.instance.errors import JobInactive

if TYPE_CHECKING:
    from live_bench import Ran

KIND, GUEST = "coupled", "computes"
NO_READER = Programs("", 0)
QUOTAS = (0.5,)
"""Of a guest, which static gives: it has one quota for both."""


def blocks_for(seconds: float) -> int:
    """Return the blocks of a program that computes so long alone; a coupled one takes about as long."""
    words = [sys.executable, str(PROGRAM), GUEST, "--measure", "0.5"]
    done = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return int(max(20, round(seconds * done["blocks"] / done["seconds"])))


def pair(bench: Bench, blocks: int) -> Ran:
    """Run a coupled pair with a guest that waits for its cores, and return how the pair ran."""
    host = bench.submit(KIND, CORES, blocks)
    guest = bench.submit(GUEST, CORES, blocks)
    found = bench.ran(host, KIND, CORES)
    with contextlib.suppress(JobInactive):
        bench.cluster.instance.jobs.cancel(guest)
    bench.cluster.instance.jobs.wait(guest)
    return found


def main() -> int:
    """Measure, and print one JSON line."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--seconds", type=arguments.seconds, default=20.0, help="of a pair alone, about")
    parser.add_argument("--rounds", type=arguments.count, default=12, help="of cosched")
    options = parser.parse_args()
    blocks = blocks_for(options.seconds)
    with live("easy", 1, CORES) as cluster:
        bench = Bench(cluster, NO_READER)
        alone = bench.ran(bench.submit(KIND, CORES, blocks), KIND, CORES).seconds
    with_guest = {}
    for quota in QUOTAS:
        with live(f"static:quota={quota:g}", 1, CORES) as cluster:
            with_guest[f"{quota:g}"] = pair(Bench(cluster, NO_READER), blocks).seconds / alone - 1
    shared, weights = learned(blocks, alone, options.rounds)
    half = len(shared) // 2
    report(
        "coupled pair",
        "fractions",
        {
            "alone_seconds": alone,
            "slowdown_by_quota": with_guest,
            "shared_first_half": statistics.fmean(shared[:half]) if half else 0.0,
            "shared_second_half": statistics.fmean(shared[half:]),
            "weights": weights,
        },
    )
    return 0


def learned(blocks: int, alone: float, rounds: int) -> tuple[list[bool], dict[str, float]]:
    """Return of each round of cosched whether the pair had a guest, and the experts' weights in the end."""
    with live(f"cosched:every={max(1.0, alone / 5):g},guard=0", 1, CORES) as cluster:
        bench = Bench(cluster, NO_READER)
        for kind in (KIND, GUEST):  # what is known of the programs
            bench.ran(bench.submit(kind, CORES, blocks), kind, CORES)
        shared = [
            any(each.name == "co-allocated" for each in ran.events)
            for ran in (pair(bench, blocks) for _ in range(rounds))
        ]
        weights = cluster.instance.links.rpc("minicluster-sched.sharing", {}).get("weights", {})
    return shared, weights


if __name__ == "__main__":
    sys.exit(main())
