"""GETs through the API server and the metrics adapter: how long they take, and the adapter's memory.

    python -m benchmarks.metrics_adapter [--miniclusters 1000] [--rate 100] [--seconds 30] [--connections 8]

A real control plane on this machine; another process plays the leads, with the HTTPS of lead servers.
Requests are due at their times whether or not the former ones are answered, one MiniCluster after the other.
So hardly one is answered from another's answer. They go over a few kept connections to the API server, as an
autoscaler's; the time for which one waits for a connection counts.
Each MiniCluster is asked for once before (the first GETs): then the adapter has a connection to each lead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp

from minicluster.document import crd
from minicluster.kube_client import open_files
from minicluster.lead_client.keys import LeadAuthority
from tests.devcluster import Api, ControlPlane, Options, cluster, until
from tests.kubernetes import adapters, operators
from tests.metrics_api.adapter.played import Lead, Leads, playing

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

RUNNERS = 8
METRIC = "flux_nodes_demanded"
PATH = "{}/namespaces/default/miniclusters.flux-framework.org/mc-{}/" + METRIC


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--miniclusters", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=100.0, help="GETs a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=8, help="to the API server")
    given = parser.parse_args()
    with cluster(Options(crds=[crd()])) as plane, tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(plane, Path(folder), given)))


def measure(plane: ControlPlane, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures."""
    authority = LeadAuthority.make()
    operators.grant(plane.api)
    uids = made(plane, given.miniclusters)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    player = context.Process(target=play, args=(authority.files(), folder, uids, theirs), daemon=True)
    player.start()
    endpoints: dict[str, Any] = ours.recv()
    run_pods(plane, endpoints["addresses"])
    leads = Leads(folder, authority)
    leads.port = endpoints["port"]
    with adapters.running(plane, leads, folder / "log", free_port()) as adapter:
        paths = [PATH.format(adapters.V2, number) for number in range(given.miniclusters)]
        until(lambda: plane.api.exists(paths[-1]), "the last lead to be known", 120.0)
        found = asyncio.run(asked(plane, paths, given, adapter.process.pid))
    ours.send("how many?")
    lead_figures = ours.recv()
    player.terminate()
    return {
        "benchmark": "metrics_adapter",
        "miniclusters": given.miniclusters,
        "gets_per_second": given.rate,
        "connections": given.connections,
        **found,
        "lead_connections": lead_figures["connections"],
        "lead_requests": lead_figures["requests"],
    }


async def asked(plane: ControlPlane, paths: list[str], given: argparse.Namespace, pid: int) -> dict[str, Any]:
    """Ask for each MiniCluster once, then at the rate for the given time; return the figures."""
    connector = aiohttp.TCPConnector(ssl=plane.admin.tls(), limit=given.connections)
    async with aiohttp.ClientSession(plane.url, connector=connector) as session:
        idle = megabytes(pid)
        first, _ = await load(session, paths, given.rate / 2, len(paths))
        warm, began = megabytes(pid), processor_seconds(pid)
        times, errors = await load(session, paths, given.rate, int(given.rate * given.seconds))
        worked = processor_seconds(pid) - began
    return {
        "gets": len(times),
        "errors": len(errors),
        "kinds_of_errors": sorted(set(errors))[:3],
        "p50_ms": milliseconds(times, 50),
        "p99_ms": milliseconds(times, 99),
        "max_ms": milliseconds(times, 100),
        "p99_ms_of_first_gets": milliseconds(first, 99),
        "adapter_cpu_ms_a_get": round(1000 * worked / len(times), 2),
        "adapter_mb_before": idle,
        "adapter_mb_with_all_leads": warm,
        "adapter_mb": megabytes(pid),
    }


def megabytes(pid: int) -> float:
    """Return how much memory a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def processor_seconds(pid: int) -> float:
    """Return how long a process has worked so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def milliseconds(times: list[float], percent: int) -> float:
    """Return a percentile."""
    value = max(times) if percent == 100 else statistics.quantiles(times, n=100)[percent - 1]
    return round(1000 * value, 1)


async def load(
    session: aiohttp.ClientSession, paths: list[str], rate: float, count: int
) -> tuple[list[float], list[str]]:
    """Send GETs at their times; return how long each took, and what was no value."""
    times: list[float] = []
    errors: list[str] = []

    async def get(path: str, due: float) -> None:
        async with session.get(path) as answer:
            text = await answer.text()
        times.append(time.monotonic() - due)
        if answer.status != 200 or json.loads(text)["items"][0]["value"] != "7":
            errors.append(f"{answer.status}: {text[:200]}")

    async with asyncio.TaskGroup() as group:
        begin = time.monotonic()
        for number in range(count):
            due = begin + number / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(get(paths[number % len(paths)], due))
    return times, errors


def made(plane: ControlPlane, count: int) -> list[str]:
    """Make MiniClusters; return their UIDs."""

    def make(api: Api, number: int) -> str:
        return str(operators.create(api, "default", f"mc-{number}")["metadata"]["uid"])

    return everywhere(plane, make, count)


def run_pods(plane: ControlPlane, addresses: list[str]) -> None:
    """Have the lead's pod of each MiniCluster run, by word alone."""

    def run(api: Api, number: int) -> str:
        name = f"mc-{number}"
        labels = {
            "app.kubernetes.io/managed-by": "minicluster",
            "app.kubernetes.io/instance": name,
            "app.kubernetes.io/component": "broker",
            "batch.kubernetes.io/job-completion-index": "0",
        }
        body = {"metadata": {"name": f"{name}-0", "labels": labels}, "spec": adapters.SPEC}
        api.create("/api/v1/namespaces/default/pods", body)
        adapters.run_pod_at(api, "default", f"{name}-0", addresses[number])
        return name

    everywhere(plane, run, len(addresses))


def everywhere(plane: ControlPlane, work: Any, count: int) -> list[str]:
    """Do something for each MiniCluster, over a few connections."""
    apis = [Api(plane.admin) for _ in range(RUNNERS)]
    with ThreadPoolExecutor(RUNNERS) as pool:
        found = list(pool.map(lambda number: work(apis[number % RUNNERS], number), range(count)))
    for api in apis:
        api.hang_up()
    return found


def play(files: dict[str, str], folder: Path, uids: list[str], other: Connection) -> None:
    """Play the leads, in a process of its own."""
    open_files.allow_many()
    with playing(folder, LeadAuthority.load(files)) as leads:
        found: list[Lead] = [leads.add(uid).serve_numbers(flux_nodes_demanded=7) for uid in uids]
        other.send({"port": leads.port, "addresses": [each.address for each in found]})
        other.recv()
        other.send(
            {
                "connections": sum(each.connections for each in found),
                "requests": sum(each.requests for each in found),
            }
        )
        other.recv()


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


if __name__ == "__main__":
    main()
