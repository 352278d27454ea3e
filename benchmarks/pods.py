"""From a MiniCluster document to brokers that work, on real nodes; and growing, shrinking and deleting.

    python benchmarks/pods.py
    python benchmarks/pods.py --sizes 1 4 --runs 3

Four nodes of the test cluster and our operator, with the image of the embedded instance. Seconds from the
accepted creation: `job_s` until the Job exists, `scheduled_s` until all pods have a node, `running_s` until
all their containers run, `ready_s` until the status reports that all brokers have joined and take jobs (it is
written at most once a second, so the brokers themselves may be faster by up to that). `grow_s` is from 2 to 4
until the two new ones are ready, `shrink_s` from 4 to 2 until their pods are gone, `delete_s` until nothing
is left.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines import report, summary

from minicluster import document
from tests.devcluster import Options, cluster, until
from tests.kubernetes import operators
from tests.kubernetes.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.devcluster import Api, ControlPlane

NODES = 4
POLL_INTERVAL = 0.02
TIMEOUT = 120.0


def space(api: Api) -> str:
    """Make a namespace."""
    name = f"bench-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until(lambda: api.exists(account), f"the service account of {name}")
    return name


def reached(steps: dict[str, Callable[[], bool]]) -> dict[str, float]:
    """Return after how many seconds each step holds, in their order."""
    begun, found = time.monotonic(), {}
    for name, holds in steps.items():
        until(holds, name, TIMEOUT, POLL_INTERVAL)
        found[name] = round(time.monotonic() - begun, 3)
    return found


def bring_up(plane: ControlPlane, size: int) -> dict[str, float]:
    """Create a MiniCluster, follow it until it works, and delete it."""
    live = Live(plane.api, space(plane.api)).create(interactive=True, size=size)
    job = f"/apis/batch/v1/namespaces/{live.namespace}/jobs/{live.name}"
    found = reached(
        {
            "job_s": lambda: plane.api.exists(job),
            "scheduled_s": lambda: (
                sum("nodeName" in pod["spec"] for pod in live.pods.by_rank().values()) == size
            ),
            "running_s": lambda: running(live) == size,
            "ready_s": lambda: ready(live, size),
        }
    )
    live.delete()
    return found | reached({"delete_s": lambda: not operators.owned(plane.api, live.namespace)})


def running(live: Live) -> int:
    """Count the pods that run."""
    return sum(pod["status"].get("phase") == "Running" for pod in live.pods.by_rank().values())


def ready(live: Live, size: int) -> bool:
    """Whether the status reports that so many brokers take jobs."""
    found = operators.conditions(live.item)
    return found.get("Running", ("",))[0] == "True" and live.status["readyBrokers"] == size


def resize(plane: ControlPlane) -> dict[str, float]:
    """Grow and shrink a MiniCluster that has nothing to do."""
    live = Live(plane.api, space(plane.api)).create(interactive=True, size=2, maxSize=4)
    live.joined(2)
    live.change(size=4)
    grown = reached({"grow_s": lambda: ready(live, 4)})
    live.change(size=2)
    shrunk = reached({"shrink_s": lambda: len(live.pods.by_rank()) == 2})
    live.delete()
    return grown | shrunk


def gathered(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Sum up runs, figure by figure."""
    return {name: summary([run[name] for run in runs]) for name in runs[0]}


def main() -> None:
    """Measure every size, and resizing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--runs", type=int, default=10, help="of each (default %(default)s)")
    args = parser.parse_args()
    results: dict[str, object] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(Options(crds=[document.crd()], nodes=NODES)) as plane,
        operators.running(operators.account(plane), Path(folder, "log")),
    ):
        for size in args.sizes:
            runs = [bring_up(plane, size) for _ in range(args.runs)]
            results[f"size {size}"] = gathered(runs)
            print(f"size {size}: {results[f'size {size}']}", file=sys.stderr, flush=True)
        results["resize"] = gathered([resize(plane) for _ in range(args.runs)])
        print(f"resize: {results['resize']}", file=sys.stderr, flush=True)
    report("MiniClusters on real nodes", "s", {"nodes": NODES} | results)


if __name__ == "__main__":
    main()
