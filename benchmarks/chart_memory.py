"""The chart's pods with many MiniClusters: the memory of operator and metrics adapter, beside their limits.

    python benchmarks/chart_memory.py
    python benchmarks/chart_memory.py --counts 100 1000

The chart is installed as it is, with its defaults, on two real nodes. They take no more pods then: those of
the MiniClusters run on nodes that kwok plays. For each count (on top of the one before):

* `made_s`: from the first creation until all report that they run;
* `pods`: of each, `resident_mb`, the memory that the kubelet finds its processes to need once all run,
  `peak_mb`, the most of it that was seen meanwhile, `limit_mb`, and how often it was started again.

All the while the adapter is asked for a metric of one MiniCluster after the other, as autoscalers would.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
import threading
import time
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from engines import report
from many_miniclusters import running_now
from writers import NAMESPACE, document

from minicluster.document import crd
from minicluster.kube_client.resources import MINICLUSTERS
from tests.devcluster import Api, ApiError, Options, cluster
from tests.devcluster.__main__ import every_image
from tests.devcluster.release import PODS, Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import ControlPlane

REAL_NODES = 2
FAKE_NODES = 100
TIMEOUT = 1800.0
POLL_INTERVAL = 2.0
QUIESCENCE = 30.0
"""Seconds behind the last change: the kubelet looks every 10 s."""
METRIC = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/{}/miniclusters.flux-framework.org/{}/{}"
METRIC_NAME = "flux_nodes_demanded"
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
MEGABYTE = 1e6
WORKING_SET = re.compile(
    r'^container_memory_working_set_bytes\{container="(?P<container>[^"]*)",namespace="[^"]*",'
    r'pod="(?P<pod>[^"]*)"\} (?P<bytes>\S+)',
    re.MULTILINE,
)
"""What the kubelet states for metrics-server."""

Figures = dict[str, Any]


def main() -> None:
    """Measure the counts one after the other, each on top of the one before."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", type=int, nargs="+", default=[100, 1000], help="MiniClusters in all")
    args = parser.parse_args()
    found: dict[str, Figures] = {}
    with installed() as plane:
        for before, count in pairwise([0, *sorted(args.counts)]):
            with Memory(plane.api) as memory, asked_for_metrics(plane.api, count):
                took = made(plane.api, before, count)
                time.sleep(QUIESCENCE)
            found[str(count)] = {"made_s": took, "pods": memory.figures()}
            print(f"{count}: {found[str(count)]}", file=sys.stderr, flush=True)
    report("chart_memory", "s, MB", {"counts": found})


@contextlib.contextmanager
def installed() -> Iterator[ControlPlane]:
    """Have a cluster whose real nodes have the chart's pods, and get no others."""
    options = Options(nodes=REAL_NODES, images=every_image(), crds=[crd()])
    with cluster(options) as plane, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        release = Release(plane.api, plane.kubeconfig, Path(folder))
        release.install()
        release.wait_ready()
        for node in plane.api.items("/api/v1/nodes"):
            cordon = {"spec": {"unschedulable": True}}
            plane.api.merge(f"/api/v1/nodes/{node['metadata']['name']}", cordon)
        plane.add_fake_nodes(FAKE_NODES)
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield plane


def made(api: Api, before: int, count: int) -> float:
    """Make MiniClusters until there are so many; return the seconds until all run."""
    begun = time.monotonic()
    for number in range(before, count):
        api.create(MINICLUSTERS.path(NAMESPACE), document(f"mc-{number}", 1))
    while running_now(api) < count:
        if time.monotonic() - begun > TIMEOUT:
            raise SystemExit(f"{running_now(api)} of {count} MiniClusters run after {TIMEOUT:g} s")
        time.sleep(POLL_INTERVAL)
    return round(time.monotonic() - begun, 1)


@contextlib.contextmanager
def asked_for_metrics(api: Api, count: int) -> Iterator[None]:
    """Ask the adapter all the while. A pod of kwok's has no lead, so it answers that it has no number."""
    over, asking = threading.Event(), Api(api.access)

    def ask() -> None:
        for number in cycle(range(count)):
            if over.is_set():
                return
            with contextlib.suppress(ApiError, OSError):
                asking.get(METRIC.format(NAMESPACE, f"mc-{number}", METRIC_NAME))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Memory:
    """Watches what the chart's containers have, until the end of the block."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._found: dict[tuple[str, str], list[float]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._sample()

    def figures(self) -> Figures:
        """Return what each container has, had at most, and may have."""
        figures = {}
        for pod in self._api.items(PODS):
            name = pod["metadata"]["name"]
            starts = {each["name"]: each["restartCount"] for each in pod["status"]["containerStatuses"]}
            for container in pod["spec"]["containers"]:
                seen = self._found.get((name, container["name"]), [])
                figures[name] = {
                    "resident_mb": round(seen[-1], 1),
                    "peak_mb": round(max(seen), 1),
                    "limit_mb": round(megabytes(container["resources"]["limits"]["memory"]), 1),
                    "restarts": starts[container["name"]],
                }
        return figures

    def _poll(self) -> None:
        while not self._over.wait(POLL_INTERVAL):
            self._sample()

    def _sample(self) -> None:
        for node in {pod["spec"]["nodeName"] for pod in self._api.items(PODS)}:
            _, answer = self._api.send("GET", f"/api/v1/nodes/{node}/proxy/metrics/resource")
            for found in WORKING_SET.finditer(answer.decode()):
                key = (found["pod"], found["container"])
                self._found.setdefault(key, []).append(float(found["bytes"]) / MEGABYTE)


def megabytes(quantity: str) -> float:
    """Return a Kubernetes quantity with a unit of bytes in MB."""
    return int(quantity[:-2]) * UNITS[quantity[-2:]] / MEGABYTE


if __name__ == "__main__":
    main()
