"""From a document to the first job over all brokers, on real nodes: by our operator, by hand, by another.

    python benchmarks/broker_joins.py
    PATH=/path/to/flux/bin:$PATH python benchmarks/broker_joins.py --real-flux --reference /path/to/manager

A MiniCluster's command prints the time, one task a broker: it runs when all brokers have joined. `by hand` is
a plain client that writes the objects of our plan, beside our operator, which keeps its hands off; each run
of one is followed by one of the other. The reference operator gets a cluster of its own, as two CRDs of one
name do not fit into one, with the same image. In seconds since the document was accepted: `job_s` until the
Job exists, `scheduled_s` until all pods have a node, `running_s` until all their containers run or have run,
`joined_s` until the command's first task, by the nodes' own clock, which is this machine's (10 ms).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connections import Connection
from engines import report, summary
from operators import fresh_plane, ours, reference, running
from pods import reached, space
from writers import fresh_keys, prepare

from broker_config import curve
from minicluster.kube_client.resources import MINICLUSTERS
from tests.devcluster import node_images, until
from tests.kubernetes.live import Live

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from operators import Operator

    from tests.devcluster import ControlPlane

    Making: TypeAlias = Callable[[ControlPlane, dict[str, Any]], float]

NODES = 4
NAME = "mc"
STARTED = re.compile(r"^(\d+\.\d\d) \d+\.\d\d$", re.MULTILINE)
RAN = frozenset({"Running", "Succeeded", "Failed"})
BY_HAND = "example.com/by-hand"  # our operator leaves alone what another one manages
TIMEOUT = 180.0


def clock() -> float:
    """Return the seconds of /proc/uptime, the same on every node: they are all this machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def document(namespace: str, image: str, size: int) -> dict[str, Any]:
    """Return a MiniCluster that every operator accepts."""
    container = {"image": image, "command": "cat /proc/uptime", "runFlux": True}
    flux = {"container": {"disable": True, "image": image}}
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"size": size, "tasks": size, "containers": [container], "flux": flux},
    }


def by_operator(plane: ControlPlane, made: dict[str, Any]) -> float:
    """Make a MiniCluster; return when it was accepted."""
    plane.api.create(MINICLUSTERS.path(made["metadata"]["namespace"]), made)
    return clock()


def by_reference(plane: ControlPlane, made: dict[str, Any]) -> float:
    """Make a MiniCluster, with a certificate: a reference built without libzmq cannot make a valid one."""
    made["spec"]["flux"]["curveCert"] = curve.render(NAME, curve.generate())
    return by_operator(plane, made)


def by_hand(plane: ControlPlane, made: dict[str, Any]) -> float:
    """Write what our operator would; return when the document was accepted."""
    made["spec"]["managedBy"] = BY_HAND
    writes = prepare(made, fresh_keys())
    accepted = plane.api.create(MINICLUSTERS.path(made["metadata"]["namespace"]), made)
    begun = clock()
    with Connection(plane.api.access) as connection:
        writes.objects(connection, accepted["metadata"]["uid"])
    return begun


def measure(plane: ControlPlane, image: str, size: int, make: Making) -> dict[str, float]:
    """Have a MiniCluster made, follow it to its first job, and delete it."""
    live = Live(plane.api, space(plane.api), NAME)
    begun = make(plane, document(live.namespace, image, size))
    late = clock() - begun
    job, pods = (f"/{group}/namespaces/{live.namespace}" for group in ("apis/batch/v1", "api/v1"))

    def have(condition: Callable[[dict[str, Any]], bool]) -> bool:
        return sum(map(condition, plane.api.items(f"{pods}/pods"))) >= size

    found = reached(
        {
            "job_s": lambda: plane.api.exists(f"{job}/jobs/{NAME}"),
            "scheduled_s": lambda: have(lambda pod: "nodeName" in pod["spec"]),
            "running_s": lambda: have(lambda pod: pod["status"].get("phase") in RAN),
        }
    )
    times = until(lambda: STARTED.findall(log(plane, f"{pods}/pods")), "the command's output", TIMEOUT)
    live.delete()
    until(lambda: not plane.api.items(f"{pods}/pods"), "the pods to be gone", TIMEOUT)
    return {name: late + seconds for name, seconds in found.items()} | {
        "joined_s": min(map(float, times)) - begun
    }


def log(plane: ControlPlane, pods: str) -> str:
    """Return what the lead broker's pod has written."""
    for pod in plane.api.items(pods):
        if pod["metadata"]["name"].startswith(f"{NAME}-0-"):
            status, text = plane.api.send("GET", f"{pods}/{pod['metadata']['name']}/log")
            return text.decode(errors="replace") if status == 200 else ""
    return ""


def runs(
    operator: Operator,
    image: str,
    sizes: list[int],
    count: int,
    ways: dict[str, Making],
) -> dict[str, dict[str, Any]]:
    """Measure an operator's ways on a cluster of its own, in turns; the first turn warms up."""
    found: dict[str, dict[str, Any]] = {}
    with fresh_plane(operator.crd, nodes=NODES) as plane, running(operator, plane, warm=False):
        for size in sizes:
            rounds = [
                {way: measure(plane, image, size, make) for way, make in ways.items()}
                for _ in range(count + 1)
            ][1:]
            for way in ways:
                each = {name: summary([turn[way][name] for turn in rounds]) for name in rounds[0][way]}
                found.setdefault(way, {})[f"size {size}"] = each
                print(f"{way}, size {size}: {each}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--runs", type=int, default=10, help="of each (default %(default)s)")
    parser.add_argument("--real-flux", action="store_true", help="with real Flux, which must be on PATH")
    parser.add_argument("--reference", type=Path, metavar="PATH", help="the reference operator's binary")
    parser.add_argument("--reference-crd", type=Path, metavar="PATH", help="its CRD")
    args = parser.parse_args()
    image = node_images.REAL if args.real_flux else node_images.EMBEDDED
    ways: dict[str, Making] = {"ours": by_operator, "by hand": by_hand}
    found = runs(ours(), image, args.sizes, args.runs, ways)
    if args.reference:
        other = reference(args.reference, args.reference_crd)
        found |= runs(other, image, args.sizes, args.runs, {"reference": by_reference})
    ratios = {
        way: {
            size: round(found["ours"][size]["joined_s"]["median"] / each["joined_s"]["median"], 2)
            for size, each in figures.items()
        }
        for way, figures in found.items()
        if way != "ours"
    }
    report(
        "from a document to the first job over all its brokers",
        "s",
        {"nodes": NODES, "engine": image, **found, "ours_to": ratios},
    )


if __name__ == "__main__":
    main()
