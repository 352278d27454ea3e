"""One MiniCluster of 1,000 pods on 100 fake nodes: from its creation to the condition Running, and the cost.

    python benchmarks/thousand_pods.py
    python benchmarks/thousand_pods.py --reference /path/to/manager

kwok plays the nodes: a pod runs as soon as it is scheduled, and stays. So it is the Job's controller, the
scheduler and the operator that take time: `pods_s` is until the Job reports all its pods as ready,
`running_s` until the MiniCluster reports that it runs (the reference never does: for it there is no such
figure). CPU-seconds are the operator's own until then; `cpu_settled_s` and `writes` until it has written
nothing more for 3 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from engines import report
from operators import Audit, Operator, Running, add_options, chosen, fresh_plane, running, writes
from writers import NAMESPACE, document

from minicluster.kube_client.resources import JOBS, MINICLUSTERS

if TYPE_CHECKING:
    from tests.devcluster import Api

NAME = "large"
QUIET = 3.0
IDLE_TIMEOUT = 120.0
TIMEOUT = 300.0
POLL_INTERVAL = 0.1  # seconds; more often, and looking would be work for the API server


def measure(operator: Operator, pods: int, nodes: int) -> dict[str, Any]:
    """Create the MiniCluster and follow it."""
    with fresh_plane(operator.crd) as plane:
        plane.add_fake_nodes(nodes)
        with running(operator, plane) as started:
            audit, cpu = Audit(plane.audit_log), started.cpu()
            plane.api.create(MINICLUSTERS.path(NAMESPACE), document(NAME, pods))
            seconds = follow(plane.api, started, pods)
            spent = started.cpu() - cpu
            written = writes(audit.until_quiet(QUIET, IDLE_TIMEOUT))
            return seconds | {
                "cpu_s": round(spent, 2),
                "cpu_settled_s": round(started.cpu() - cpu, 2),
                "peak_mb": started.memory("VmHWM"),
                "writes": sum(written.values()),
                "writes_by_kind": dict(sorted(written.items())),
            }


def follow(api: Api, started: Running, pods: int) -> dict[str, float]:
    """Return when the Job had its pods, and when the MiniCluster ran, where that is ever reported."""
    created = time.monotonic()
    awaited = {"pods_s": has_pods, "running_s": is_running}
    if started.operator.name == "reference":
        del awaited["running_s"]
    seconds: dict[str, float] = {}
    while awaited:
        started.lives()
        for figure in [name for name, holds in awaited.items() if holds(api, pods)]:
            seconds[figure] = round(time.monotonic() - created, 2)
            del awaited[figure]
        if time.monotonic() - created > TIMEOUT:
            raise SystemExit(f"{started.operator.name}: no {', '.join(awaited)} after {TIMEOUT:g} s")
        time.sleep(POLL_INTERVAL)
    return seconds


def has_pods(api: Api, pods: int) -> bool:
    """Whether the Job reports all its pods as ready."""
    found = api.items(JOBS.path(NAMESPACE), fieldSelector=f"metadata.name={NAME}")
    return any(each.get("status", {}).get("ready") == pods for each in found)


def is_running(api: Api, _: int) -> bool:
    """Whether the MiniCluster reports that it runs."""
    conditions = api.get(MINICLUSTERS.path(NAMESPACE, NAME)).get("status", {}).get("conditions") or []
    return any(each["type"] == "Running" and each["status"] == "True" for each in conditions)


def main() -> None:
    """Measure each operator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=100, help="of 110 pods and 32 cores each")
    args = parser.parse_args()
    results: dict[str, object] = {}
    for operator in chosen(args):
        results[operator.name] = measure(operator, args.pods, args.nodes)
        print(f"{operator.name}: {results[operator.name]}", file=sys.stderr, flush=True)
    report("one MiniCluster of many pods", "s", {"pods": args.pods, "nodes": args.nodes} | results)


if __name__ == "__main__":
    main()
