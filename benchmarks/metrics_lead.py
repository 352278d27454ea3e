"""The metrics of a lead server: how long a GET takes with many pending jobs, and what sampling costs.

python benchmarks/metrics_lead.py --pending 1000 100000 --real-flux
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engines import Engine, Instance, engines, instance, parser, report, resident, summary, wait_for

from minicluster import flux_zips
from minicluster.lead_client.keys import LeadAuthority
from minicluster.plan import lead_dns_name
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

UID = "benchmark"
PATH = "/v1/queue"
MAIN = {"embedded": "minicluster.embedded_lead.process", "flux": "minicluster.lead_server.flux_module"}
CODE = """\
import json, sys
sys.path[:0] = [{path!r}]
from {module} import main
sys.exit(main({uri!r}, json.loads({settings!r})))
"""
TICK = os.sysconf("SC_CLK_TCK")


def connection(port: int, context: ssl.SSLContext, host: str) -> http.client.HTTPConnection:
    """Connect to a server on this machine that is known by this name."""
    made = http.client.HTTPConnection(host)
    plain = socket.create_connection(("127.0.0.1", port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.sock = context.wrap_socket(plain, server_hostname=host)
    return made


class LeadProbe:
    """The lead server of an instance, as its lead would run it, and one connection to it."""

    def __init__(self, authority: LeadAuthority, port: int, token: str, pid: int) -> None:
        self.pid = pid
        self.port = port
        self._context = authority.trust()
        self._headers = {"Authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPConnection | None = None

    def get(self) -> dict[str, object] | None:
        """Return the newest sample; None while there is none."""
        if self._connection is None:
            self._connection = connection(self.port, self._context, lead_dns_name(UID))
        self._connection.request("GET", PATH, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        return dict(json.loads(body)) if answer.status == 200 else None

    def is_there(self) -> bool:
        """Return whether it gives samples."""
        try:
            return self.get() is not None
        except (OSError, ssl.SSLError, http.client.HTTPException):
            self._connection = None
            return False

    def is_open(self) -> bool:
        """Return whether it listens on its port."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def pending(self) -> object:
        """Return the number of pending jobs in its samples."""
        samples = (self.get() or {"samples": []})["samples"]
        assert isinstance(samples, list)
        return next((each["value"] for each in samples if each["name"] == "flux_jobs_pending"), None)

    def cpu(self) -> float:
        """Return the seconds of processor time that it has taken."""
        return cpu_time(self.pid)


def cpu_time(pid: int) -> float:
    """Return the seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


@contextlib.contextmanager
def lead_api(
    engine: Engine, running: Instance, more: Mapping[str, object] | None = None
) -> Iterator[LeadProbe]:
    """Start the lead server of an instance; `more` are settings of it."""
    authority = LeadAuthority.make()
    keys = authority.issue(UID)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-door-") as directory:
        zipped = Path(directory) / flux_zips.ZIP
        zipped.write_bytes(flux_zips.pack())
        texts = {"crt": keys.certificate, "key": keys.key, "token": keys.token}
        for suffix, text in texts.items():
            (Path(directory) / f"door.{suffix}").write_text(text)
        (Path(directory) / "metrics.token").write_text(keys.metrics_token)
        settings = json.dumps({"port": port, "directory": directory} | dict(more or {}))
        path = str(zipped) if engine.name == "flux" else str(Path(__file__).parents[1])
        code = CODE.format(path=path, module=MAIN[engine.name], uri=running.uri, settings=settings)
        python = ["flux", "python"] if engine.name == "flux" else [sys.executable]
        child = subprocess.Popen([*python, "-c", code], env=running.environment, stdin=subprocess.PIPE)
        try:
            yield LeadProbe(authority, port, keys.metrics_token, child.pid)
        finally:
            child.terminate()
            child.communicate()


def gets(engine: Engine, pending: int, count: int) -> dict[str, object]:
    """Measure GETs on an instance with so many pending jobs, for at least `count` of them."""
    with instance(engine, 1) as running, lead_api(engine, running) as opened:
        running.flux("submit", "--exclusive", "-N1", "sleep", "inf")
        running.flux("submit", "--quiet", f"--cc=1-{pending}", "-n1", "true")
        start = time.perf_counter()
        if not wait_for(lambda: opened.is_there() and opened.pending() == pending):
            raise SystemExit(f"{engine.name}: the door does not count {pending} pending jobs")
        first = time.perf_counter() - start
        cpu, begun = opened.cpu(), time.perf_counter()
        times = [_timed(opened) for _ in range(count)]
        fraction = (opened.cpu() - cpu) / (time.perf_counter() - begun)
        memory = resident(opened.pid)
        running.flux("queue", "stop")
    percentiles = statistics.quantiles(times, n=100)
    return {
        "first_sample_s": round(first, 3),
        "get_ms": {
            "p50": round(percentiles[49], 2),
            "p99": round(percentiles[98], 2),
            "max": round(max(times), 2),
        },
        "door_cpu_percent": round(100 * fraction, 1),
        "door_mb": round(memory, 1),
    }


def _timed(opened: LeadProbe) -> float:
    """Return the milliseconds of one GET; about a hundred a second, so that samples fall among them."""
    start = time.perf_counter()
    if opened.get() is None:
        raise SystemExit("a GET was not answered with a sample")
    took = 1000 * (time.perf_counter() - start)
    time.sleep(0.01)
    return took


def throughput(engine: Engine, jobs: int, read: bool) -> tuple[float, float]:
    """Return jobs per second beside a lead server; with `read` one that makes a sample every second.

    And the milliseconds of processor time that the lead and its server took for a job, which a busy machine
    changes less.
    """
    with instance(engine, 4) as running, lead_api(engine, running) as opened:
        # One read keeps it sampling every second for a minute.
        if not wait_for(opened.is_there if read else opened.is_open):
            raise SystemExit(f"{engine.name}: the door does not open")
        start, cpu = time.perf_counter(), opened.cpu() + cpu_time(running.brokers[0])
        running.flux("submit", "--quiet", f"--cc=1-{jobs}", "-n1", "-c1", "true")
        running.flux("queue", "drain")
        took = opened.cpu() + cpu_time(running.brokers[0]) - cpu
        return jobs / (time.perf_counter() - start), 1000 * took / jobs


def main() -> None:
    """Measure each engine: GETs for each number of jobs, then throughput with and without samples in turn."""
    arguments = parser(__doc__ or "", runs=5)
    arguments.add_argument("--pending", type=int, nargs="*", default=[1000, 100_000])
    arguments.add_argument("--gets", type=int, default=2000)
    arguments.add_argument("--jobs", type=int, default=1000, help="of a run that measures throughput")
    args = arguments.parse_args()
    results: dict[str, object] = {}
    with engines(args.real_flux) as found:
        for engine in found:
            measured: dict[str, object] = {
                f"pending_{pending}": gets(engine, pending, args.gets) for pending in args.pending
            }
            rates: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
            for _ in range(args.runs):
                for read, measured_rates in rates.items():
                    measured_rates.append(throughput(engine, args.jobs, read))
            if args.runs:
                for name, runs in (("alone", rates[False]), ("sampled", rates[True])):
                    measured[f"jobs_per_s_{name}"] = summary([rate for rate, _ in runs], 1)
                    measured[f"lead_and_door_ms_per_job_{name}"] = summary([cpu for _, cpu in runs], 2)
                medians = [statistics.median(rate for rate, _ in runs) for runs in rates.values()]
                measured["cost_percent"] = round(100 * (1 - medians[1] / medians[0]), 1)
            results[engine.name] = measured
    report("metrics on the lead's door", "mixed", {"jobs": args.jobs} | results)


if __name__ == "__main__":
    main()
