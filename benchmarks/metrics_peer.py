"""GETs of one custom metric, the pending jobs: our lead server beside flux-metrics-api, on one real Flux.

python benchmarks/metrics_peer.py --peer PATH --pending 100 1000 10000

PATH is a folder from which Flux's own Python imports flux_metrics_api and what that needs, as
`pip install --target PATH flux-metrics-api` makes one.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import shutil
import ssl
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines import Engine, Instance, engines, instance, report, resident, wait_for
from metrics_lead import connection, cpu_time, lead_api

from tests.devcluster.certificates import authority
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "mc-metrics.default.svc"
PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/services/mc/{}"
OURS, THEIRS = "flux_jobs_pending", "job_queue_state_sched_count"
ADMINISTRATOR = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
BLOCK = 50  # GETs from one before the other has its turn


@dataclass(slots=True)
class Server:
    """One of the two: how it is asked, and what its GETs took so far."""

    pid: int
    port: int
    context: ssl.SSLContext
    metric: str
    lead: int
    times: list[float]
    cpu: float = 0
    value: float | None = None
    connection: http.client.HTTPConnection | None = None

    def get(self) -> float:
        """Return the metric's value, over one kept connection. Raises OSError, LookupError."""
        if self.connection is None:
            self.connection = connection(self.port, self.context, HOST)
        self.connection.request("GET", PATH.format(self.metric), headers=ADMINISTRATOR)
        answer = self.connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            raise LookupError(str(body))
        return float(body["items"][0]["value"])

    def is_there(self) -> bool:
        """Return whether it answers with a number."""
        try:
            return self.get() >= 0
        except (OSError, LookupError, http.client.HTTPException):
            self.connection = None
            return False

    def measure(self, count: int) -> None:
        """Ask so many times, a hundred a second, over a new connection: an idle one is not kept long."""
        self.connection = None
        self.get()
        before = cpu_time(self.pid) + cpu_time(self.lead)
        for _ in range(count):
            start = time.perf_counter()
            self.value = self.get()
            self.times.append(1000 * (time.perf_counter() - start))
            time.sleep(0.01)
        self.cpu += cpu_time(self.pid) + cpu_time(self.lead) - before

    def figures(self) -> dict[str, object]:
        """Return what was measured, and the metric's last value."""
        percentiles = statistics.quantiles(self.times, n=100)
        return {
            "says": self.value,
            "get_ms": {"p50": round(percentiles[49], 2), "p99": round(percentiles[98], 2)},
            "server_and_lead_cpu_ms_per_get": round(1000 * self.cpu / len(self.times), 2),
            "server_mb": round(resident(self.pid), 1),
        }


@contextlib.contextmanager
def ours(engine: Engine, running: Instance, folder: Path) -> Iterator[Server]:
    """Start the lead server with custom metrics."""
    serving, front = authority(folder, "serving"), authority(folder, "front-proxy")
    pair = serving.issue("tls", "mc-metrics", hosts=[HOST])
    proxy = front.issue("proxy", "front-proxy-client")
    secret = folder / "secret"
    secret.mkdir()
    shutil.copy(pair.certificate, secret / "tls.crt")
    shutil.copy(pair.key, secret / "tls.key")
    shutil.copy(serving.file, secret / "ca.crt")
    shutil.copy(front.file, secret / "requestheader-client-ca-file")
    (secret / "apis-host").write_text(HOST)
    context = ssl.create_default_context(cafile=str(serving.file))
    context.load_cert_chain(proxy.certificate, proxy.key)
    own = {"metrics-tls": str(secret), "namespace": "default", "name": "mc", "service": "mc"}
    with lead_api(engine, running, own) as opened:
        yield Server(opened.pid, opened.port, context, OURS, running.brokers[0], [])


@contextlib.contextmanager
def theirs(engine: Engine, running: Instance, folder: Path, peer: Path) -> Iterator[Server]:
    """Start flux-metrics-api on the same instance, with TLS as well."""
    serving = authority(folder, "peer")
    pair = serving.issue("peer-tls", "mc-metrics", hosts=[HOST])
    port = free_port()
    command = (
        f"start --port {port} --host 127.0.0.1 --ssl-certfile {pair.certificate} --ssl-keyfile {pair.key}"
    )
    environment = running.environment | {"PYTHONPATH": str(peer)}
    start = "import sys; from flux_metrics_api.server import main; sys.exit(main())"
    with (folder / "peer.log").open("wb") as log:
        child = subprocess.Popen(
            [str(engine.flux), "python", "-c", start, *command.split()],
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            context = ssl.create_default_context(cafile=str(serving.file))
            yield Server(child.pid, port, context, THEIRS, running.brokers[0], [])
        finally:
            child.terminate()
            child.wait()


def pair_of_both(engine: Engine, peer: Path, pending: int, count: int) -> dict[str, object]:
    """Measure `count` GETs of each with so many pending jobs, in turns."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        running = stack.enter_context(instance(engine, 1))
        running.flux("submit", "--exclusive", "-N1", "sleep", "inf")
        running.flux("submit", "--quiet", f"--cc=1-{pending}", "-n1", "true")
        both = {
            "ours": stack.enter_context(ours(engine, running, folder)),
            "flux_metrics_api": stack.enter_context(theirs(engine, running, folder, peer)),
        }
        for name, server in both.items():
            if not wait_for(server.is_there):
                raise SystemExit(f"{name} does not answer\n{(folder / 'peer.log').read_text()}")
        for _ in range(0, count, BLOCK):
            for server in both.values():
                server.measure(BLOCK)
        figures: dict[str, object] = {name: server.figures() for name, server in both.items()}
        running.flux("queue", "stop")
        medians = [statistics.median(server.times) for server in both.values()]
    return figures | {"ratio_of_medians": round(medians[1] / medians[0], 1)}


def main() -> None:
    """Measure for each number of pending jobs, and print one JSON line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--peer", type=Path, required=True, help="folder with flux_metrics_api")
    arguments.add_argument("--pending", type=int, nargs="*", default=[100, 1000, 10_000])
    arguments.add_argument("--gets", type=int, default=200)
    args = arguments.parse_args()
    with engines(real_flux=True) as (_, flux):
        found = {f"pending_{each}": pair_of_both(flux, args.peer, each, args.gets) for each in args.pending}
    report("GETs of one custom metric beside flux-metrics-api", "mixed", found)


if __name__ == "__main__":
    main()
