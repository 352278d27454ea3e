"""What resizing a running job costs, by stage: Jacobi on 2 → 4 → 8 → 4 → 2 workers of the embedded instance.

    python benchmarks/resize_costs.py --runs 5

The Jacobi runs under `priority-elastic:gap=0` on eight cores; jobs of more urgency come and go, so that it is
ordered to grow by two and by four, and to shrink by four and by two. It listens after each iteration, 10 ms.
Seconds since the stage before, from the job's eventlogs:

    grow    accepted: the program has received the order. joined: the new workers have started and called.
            acknowledged: they have their rows (`moved` of it, as the program reports).
    shrink  released: the rows are off those that leave (`moved` of it). free: these have ended, and R is the
            smaller one. reused: the job that waited for the cores runs on them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engines import report, summary
from live_cluster import live, moved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.records import Event

STEPS = ((2, 4), (4, 8), (8, 4), (4, 2))
PACE = {1: 0.01}
LONG = 100_000  # iterations: until it is cancelled
Stages = dict[str, float]


def measure(brokers: int) -> dict[tuple[int, int], Stages]:
    """Have one job resized through all steps."""
    with live("priority-elastic:gap=0", brokers, 8 // brokers) as cluster:
        holders = [cluster.rigid(size, "sleep", "inf") for size in (2, 4)]
        for job in holders:
            cluster.wait_for_event(job, "start")
        job = cluster.jacobi((2, 8), LONG, PACE)
        cluster.wait_for_event(job, "start")
        for count, holder in enumerate(holders, 1):
            cluster.instance.jobs.cancel(holder)
            cluster.wait_for_event(job, "resource-update", count)
        starters = []
        for count, size in enumerate((4, 2), 3):
            starters.append(cluster.rigid(size, "sleep", "inf"))
            cluster.wait_for_event(starters[-1], "start")
            cluster.wait_for_event(job, "resource-update", count)
        log, moves = cluster.log(job), moved(cluster.output(job))
        starts = [cluster.wait_for_event(starter, "start").timestamp for starter in starters]
        for each in (*starters, job):
            cluster.instance.jobs.cancel(each)
            cluster.instance.jobs.wait(each)
    if [(each.old, each.new) for each in moves] != list(STEPS):
        raise SystemExit(f"the job was resized otherwise: {moves}")
    found = {}
    for order, (step, word) in enumerate(zip(STEPS, moves, strict=True), 1):
        found[step] = _stages(_of(log, order), [None, None, *starts][order - 1], word.seconds)
    return found


def _of(log: Sequence[Event], order: int) -> dict[str, float]:
    """When each event of an order was."""
    return {event.name: event.timestamp for event in log if event.context.get("order") == order}


def _stages(at: dict[str, float], reused: float | None, seconds: float) -> Stages:
    ordered, done = at["resize-order"], at["resource-update"]
    if reused is None:
        accepted, joined = at["resize-accept"], at["resize-join"]
        return {
            "accepted": accepted - ordered,
            "joined": joined - accepted,
            "acknowledged": done - joined,
            "moved": seconds,
            "all": done - ordered,
        }
    released = at["resize-release"]
    return {
        "released": released - ordered,
        "moved": seconds,
        "free": done - released,
        "reused": reused - done,
        "all": done - ordered,
    }


def main() -> None:
    """Print the seconds of each stage of each step."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--brokers", type=int, choices=(1, 2, 4, 8), default=4)
    args = arguments.parse_args()
    runs = [measure(args.brokers) for _ in range(args.runs)]
    steps: dict[str, object] = {}
    for old, new in STEPS:
        stages = [run[old, new] for run in runs]
        steps[f"{old} to {new}"] = {name: summary([each[name] for each in stages], 4) for name in stages[0]}
    report("resizing a running job", "s", {"runs": args.runs, "brokers": args.brokers, "steps": steps})


if __name__ == "__main__":
    main()
