"""The operator with many MiniClusters: its memory, a start among them, what it asks for when idle.

    python benchmarks/many_miniclusters.py
    python benchmarks/many_miniclusters.py --counts 1000 2000

kwok plays the nodes, so every MiniCluster gets to run. They are made by one operator, on top of those of the
count before; for each count:

* `made_s`: from the first creation until all report that they run, which the API server, the Job controller
  and the scheduler take part in;
* `resident_mb`: of that operator, once it has written nothing more for some seconds;
* `started_s`: of a new operator that finds all this, from its process's start until it has reconciled each
  MiniCluster and its queue is empty; `started_peak_mb` is the most memory that it has had by then;
* `idle_requests` (but for watches and the Lease) and `idle_cpu_s` of it in `--idle` seconds after that.

`object_bytes` is what the objects of one MiniCluster take as JSON, by kind, with what the API server adds.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from engines import report
from operators import Audit, Running, fresh_plane, idle_requests, ours, running
from writers import NAMESPACE, document

from minicluster.kube_client.resources import MINICLUSTERS

if TYPE_CHECKING:
    from tests.devcluster import Api, ControlPlane

NODES = 100
QUIET = 5.0
QUIET_TIMEOUT = 300.0
TIMEOUT = 3600.0
POLL_INTERVAL = 2.0  # seconds; more often, and looking would be work for the API server
RECONCILED = re.compile(r'^minicluster_reconciles_total\{result="ok"\} (\S+)$', re.MULTILINE)
WAITING = re.compile(r"^minicluster_queue_depth (\S+)$", re.MULTILINE)

Figures = dict[str, Any]


def main() -> None:
    """Measure the counts one after the other, each on top of the one before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--counts", type=int, nargs="+", default=[1000, 5000, 10000], help="MiniClusters in all"
    )
    parser.add_argument("--idle", type=float, default=60.0, help="seconds in which nothing happens")
    args = parser.parse_args()
    operator = ours()
    found: dict[str, Figures] = {}
    with fresh_plane(operator.crd) as plane:
        plane.add_fake_nodes(NODES)
        for before, count in pairwise([0, *sorted(args.counts)]):
            with running(operator, plane, warm=False) as started:
                figures = made(plane, started, before, count)
            begun = time.monotonic()
            with running(operator, plane, warm=False) as started:
                figures |= begin(started, count, begun) | rest(plane, started, args.idle)
            found[str(count)] = figures
            print(f"{count}: {figures}", file=sys.stderr, flush=True)
        sizes = object_bytes(plane.api)
    report("many_miniclusters", "s, MB", {"counts": found, "object_bytes": sizes})


def made(plane: ControlPlane, started: Running, before: int, count: int) -> Figures:
    """Make MiniClusters until there are so many, and wait until all run and the operator is quiet."""
    audit, begun = Audit(plane.audit_log), time.monotonic()
    for number in range(before, count):
        plane.api.create(MINICLUSTERS.path(NAMESPACE), document(f"mc-{number}", 1))
    while (there := running_now(plane.api)) < count:
        started.lives()
        if time.monotonic() - begun > TIMEOUT:
            raise SystemExit(f"{there} of {count} MiniClusters run after {TIMEOUT:g} s")
        time.sleep(POLL_INTERVAL)
    took = time.monotonic() - begun
    audit.until_quiet(QUIET, QUIET_TIMEOUT)
    return {
        "made_s": round(took, 1),
        "resident_mb": started.memory("VmRSS"),
        "peak_mb": started.memory("VmHWM"),
    }


def begin(started: Running, count: int, begun: float) -> Figures:
    """Wait until a new operator has reconciled all that is there, and nothing waits."""
    while True:
        started.lives()
        with urlopen(f"http://127.0.0.1:{started.port}/metrics") as answer:
            text = answer.read().decode()
        reconciled, waiting = (float(each.search(text)[1]) for each in (RECONCILED, WAITING))  # type: ignore[index]
        if reconciled >= count and not waiting:
            return {
                "started_s": round(time.monotonic() - begun, 1),
                "started_peak_mb": started.memory("VmHWM"),
            }
        time.sleep(0.1)


def rest(plane: ControlPlane, started: Running, idle: float) -> Figures:
    """Count what an operator asks for while nothing happens."""
    audit = Audit(plane.audit_log)
    audit.until_quiet(QUIET, QUIET_TIMEOUT)
    cpu = started.cpu()
    time.sleep(idle)
    asked = idle_requests(audit.new())
    return {
        "idle_s": idle,
        "idle_requests": sum(asked.values()),
        "idle_cpu_s": round(started.cpu() - cpu, 2),
    }


def running_now(api: Api) -> int:
    """Count the MiniClusters that report that they run, by pages of metadata and status."""
    count, following = 0, ""
    while True:
        found = api.get(MINICLUSTERS.path(NAMESPACE), limit="500", **{"continue": following})
        count += len([each for each in found["items"] if each.get("status", {}).get("phase") == "Running"])
        following = found["metadata"].get("continue") or ""
        if not following:
            return count


def object_bytes(api: Api) -> dict[str, int]:
    """Return the bytes of the first MiniCluster's objects, as JSON."""
    name = api.get(MINICLUSTERS.path(NAMESPACE), limit="1")["items"][0]["metadata"]["name"]
    selected = {"labelSelector": f"app.kubernetes.io/instance={name}"}
    found = {kind.plural: api.items(kind.path(NAMESPACE), **selected) for kind in ours().kinds}
    own = api.get(MINICLUSTERS.path(NAMESPACE, name))
    sizes = {plural: sum(map(written, items)) for plural, items in found.items()}
    return {MINICLUSTERS.plural: written(own), **sizes}


def written(item: dict[str, Any]) -> int:
    """Return the bytes of an object as JSON."""
    text = json.dumps(item, separators=(",", ":"))
    return len(text.encode())


if __name__ == "__main__":
    main()
