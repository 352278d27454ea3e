"""What a MiniCluster on real nodes does with a thousand jobs, beside a thousand Kubernetes Jobs.

    python benchmarks/pods_work.py
    PATH=/path/to/flux/bin:$PATH python benchmarks/pods_work.py --real-flux

`true` a thousand times: by `flux submit` on four brokers, from the first submission until the queue is empty;
and as Kubernetes Jobs of one pod on the same nodes, sent over 8 connections, from the first request until all
are complete. `writes` are all writes to the API server meanwhile in the namespace, by any client (Events
included). Then a thousand pending jobs are saved and restored: `save_s` from the order to suspend until
that is done and all pods are gone, `restore_s` from the order to go on until all brokers take jobs and the
queue holds them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connections import Connection, Pool, request
from engines import report, summary
from operators import WRITING, fresh_plane, ours, running
from pods import space

from tests.devcluster import node_images, until
from tests.devcluster.audit import record
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import Live

if TYPE_CHECKING:
    from tests.devcluster import ControlPlane

NODES = 4
CONNECTIONS = 8
TIMEOUT = 1800.0
ARCHIVE = "/archive/mc.tgz"


class Writes:
    """Counts the writes to a namespace from now on, by the audit log."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._log = plane.audit_log
        self._namespace = namespace
        self._offset = self._log.stat().st_size

    def count(self) -> Counter[str]:
        """Return them by kind."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            lines = [line for line in file if self._namespace.encode() in line and line.endswith(b"\n")]
        events = {event["auditID"]: event for event in map(json.loads, lines)}
        found = (record(event) for event in events.values())
        return Counter(
            each.resource for each in found if each.verb in WRITING and each.namespace == self._namespace
        )


def flux_jobs(plane: ControlPlane, image: str, count: int) -> dict[str, Any]:
    """Run them in a MiniCluster."""
    live = Live(plane.api, space(plane.api), image=image).create(interactive=True, size=NODES)
    live.joined(NODES)
    time.sleep(2)  # the status of a new MiniCluster is still being written
    writes = Writes(plane, live.namespace)
    line = f"flux submit --cc=1-{count} --quiet true && flux queue drain"
    results = f"flux jobs -anc {count} -o '{{result}}' | sort | uniq -c"
    output = shell(plane, live, f"a=$(date +%s.%N); {line}; b=$(date +%s.%N); echo $a $b; {results}")
    begun, ended, *rest = output.split()
    if rest != [str(count), "COMPLETED"]:
        raise SystemExit(f"not all jobs completed: {output}")
    seconds = float(ended) - float(begun)
    found = {"s": round(seconds, 2), "jobs_per_s": round(count / seconds, 1), "writes": dict(writes.count())}
    live.delete()
    gone(plane, live)
    return found


def shell(plane: ControlPlane, live: Live, line: str) -> str:
    """Run a line in the lead's container."""
    done = CommandLine(plane.kubeconfig, live.namespace).process("shell", live.name, "--", "sh", "-c", line)
    if done.returncode:
        raise SystemExit(f"{line}: {done.returncode}: {done.stderr}")
    return done.stdout


def gone(plane: ControlPlane, live: Live) -> None:
    """Wait until the pods of a namespace are gone."""
    until(lambda: not plane.api.items(f"/api/v1/namespaces/{live.namespace}/pods"), "no pods", TIMEOUT)


def kubernetes_jobs(plane: ControlPlane, count: int) -> dict[str, Any]:
    """Run them as Jobs."""
    namespace = space(plane.api)
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    writes = Writes(plane, namespace)
    begun = time.monotonic()
    sent = [request("POST", path, json.dumps(job(f"true-{number}")).encode()) for number in range(count)]
    Pool(plane.api.access, CONNECTIONS).run(sent, send)

    def complete() -> bool:
        return sum(int(each["status"].get("succeeded", 0)) for each in plane.api.items(path)) == count

    until(complete, "the Jobs to complete", TIMEOUT, 1.0)
    seconds = time.monotonic() - begun
    found = {"s": round(seconds, 2), "jobs_per_s": round(count / seconds, 1), "writes": dict(writes.count())}
    plane.api.delete(f"/api/v1/namespaces/{namespace}")
    return found


def send(connection: Connection, data: bytes) -> None:
    """Send one request."""
    connection.exchange(data)


def job(name: str) -> dict[str, Any]:
    """Return a Job that runs `true` once."""
    container = {"name": "true", "image": node_images.PLAIN, "command": ["true"]}
    pod = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}},
    }


def save_and_restore(plane: ControlPlane, image: str, count: int) -> dict[str, float]:
    """Save jobs that wait, and have them back."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        live = Live(plane.api, space(plane.api), image=image)
        volumes = {"archive": {"hostPath": folder, "path": "/archive"}}
        live.create({"volumes": volumes}, interactive=True, size=NODES, archive={"path": ARCHIVE}).joined(
            NODES
        )
        shell(plane, live, f"flux submit --cc=1-{count} --urgency=0 --quiet true")
        begun = time.monotonic()
        live.change(suspend=True)
        live.until(Suspended=("True", "Suspended"))
        gone(plane, live)
        saved = time.monotonic() - begun
        size = Path(folder, Path(ARCHIVE).name).stat().st_size
        begun = time.monotonic()
        live.change(suspend=False)
        live.joined(NODES)
        restored = time.monotonic() - begun
        kept = shell(plane, live, "flux jobs -nc0 -f pending -o '{id}' | wc -l").strip()
        if kept != str(count):
            raise SystemExit(f"{kept} of {count} jobs came back")
        live.delete()
        gone(plane, live)
        return {"save_s": saved, "restore_s": restored, "archive_mb": size / 1e6}


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument(
        "--kubernetes-jobs",
        type=int,
        metavar="N",
        help="as many as --jobs, which keep two cores busy for minutes",
    )
    parser.add_argument("--runs", type=int, default=3, help="of save and restore (default %(default)s)")
    parser.add_argument("--real-flux", action="store_true", help="with real Flux, which must be on PATH")
    args = parser.parse_args()
    image = node_images.REAL if args.real_flux else node_images.EMBEDDED
    operator = ours()
    with fresh_plane(operator.crd, nodes=NODES) as plane, running(operator, plane, warm=False):
        found: dict[str, object] = {"nodes": NODES, "engine": image, "jobs": args.jobs}
        found["flux submit"] = flux_jobs(plane, image, args.jobs)
        print(found, file=sys.stderr, flush=True)
        runs = [save_and_restore(plane, image, args.jobs) for _ in range(args.runs)]
        found["saving"] = {name: summary([run[name] for run in runs]) for name in runs[0]}
        print(found["saving"], file=sys.stderr, flush=True)
        beside = args.jobs if args.kubernetes_jobs is None else args.kubernetes_jobs
        found["Kubernetes Jobs"] = {"jobs": beside} | kubernetes_jobs(plane, beside)
    report("a thousand jobs on real nodes", "s, jobs/s, MB", found)


if __name__ == "__main__":
    main()
