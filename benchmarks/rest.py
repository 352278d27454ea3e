"""The RESTful API under load: beside flux-restful-api in pairs, and by itself with many jobs and streams.

python benchmarks/rest.py --real-flux --reference CHECKOUT --reference-python PYTHON

CHECKOUT is one of github.com/flux-framework/flux-restful-api, PYTHON has what its requirements.txt names,
with bcrypt below 4.1. Without them ours alone is measured. Both serve the same instance with a login, one
process each, and get the same load from another process.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import rest_servers
from arguments import count, seconds
from engines import engines, instance, parser, report
from rest_servers import CLUSTER, PASSWORD

from minicluster.instance.connection import connect
from minicluster.instance.records import JobFilter, JobRequest, JobState

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from engines import Instance
    from rest_servers import Server, User

PARTS = ("pairs", "submit", "pages", "streams", "logins")
LOAD = Path(__file__).with_name("rest_load.py")
C = f"/v2/clusters/{CLUSTER}"
JOBS = 21
"""Jobs that there are while routes are compared."""
DIFFERENT = 5000
"""Listings that differ: none of them was asked for shortly before."""
JSON = dict[str, Any]


def load(server: Server, order: JSON, opened: Callable[[], None] = lambda: None) -> JSON:
    """Have a process of its own send requests; call `opened` once all streams are open."""
    process = subprocess.Popen(
        [sys.executable, str(LOAD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(json.dumps({**order, **server.target}) + "\n")
    process.stdin.flush()
    if order["kind"] == "streams":
        if process.stderr.readline() != "open\n":
            raise SystemExit(process.stderr.read())
        opened()
    out, err = process.communicate("\n")
    if process.returncode:
        raise SystemExit(f"the load ended with {process.returncode}: {err}")
    found: JSON = json.loads(out)
    return found


def get(path: str, token: str) -> JSON:
    """Return a request."""
    return {"method": "GET", "path": path, "token": token}


class Scene:
    """An instance with our service, and perhaps the reference."""

    def __init__(self, args: argparse.Namespace, running: Instance, folder: Path) -> None:
        self.args = args
        self.running = running
        self.folder = folder
        self.stack = contextlib.ExitStack()
        self.ours = self.stack.enter_context(rest_servers.ours(running, folder / "state"))
        self.users = rest_servers.add_users(folder / "state", args.users)
        self.theirs: tuple[Server, str] | None = None
        if args.reference:
            self.theirs = self.stack.enter_context(
                rest_servers.reference(running, args.reference, args.reference_python, folder)
            )

    @property
    def user(self) -> User:
        """The user whose requests are compared."""
        return self.users[0]

    def access_token(self) -> str:
        """Log in, as the reference's client does: an access token is checked with each request."""
        form = {"grant_type": "password", "username": self.user.name, "password": PASSWORD}
        return str(self.ours.ask("POST", "/v2/oauth/token", form=form)["access_token"])

    def submit(self, *command: str, token: str = "", **more: Any) -> str:
        """Submit a job, and return its id."""
        body = {"command": list(command), **more}
        found = self.ours.ask("POST", f"{C}/jobs", token or self.user.token, json=body)
        return str(found["number"])

    def ended(self, jobs: list[str]) -> None:
        """Wait until jobs have ended."""
        for job in jobs:
            while self.ours.ask("GET", f"{C}/jobs/{job}", self.user.token)["state"] != "INACTIVE":
                time.sleep(0.05)


def pairs(scene: Scene) -> JSON:
    """Compare routes, in turn, `--runs` times each: requests a second, and their ratio."""
    jobs = [scene.submit("echo", "hello") for _ in range(JOBS)]
    scene.ended(jobs)
    job, token = jobs[0], scene.access_token()
    routes = {
        "status": ([f"{C}/jobs/{job}"], f"/v1/jobs/{job}"),
        "list": ([f"{C}/jobs?limit=50"], "/v1/jobs"),
        "list_anew": ([f"{C}/jobs?limit=50&since={number}" for number in range(1, DIFFERENT)], "/v1/jobs"),
        "nodes": ([f"{C}/nodes"], "/v1/nodes"),
        "output": ([f"{C}/jobs/{job}/output?follow=false"], f"/v1/jobs/{job}/output"),
    }
    return {name: _pair(scene, *paths, token) for name, paths in routes.items()}


def _pair(scene: Scene, our_paths: list[str], their_path: str, token: str) -> JSON:
    order = {"kind": "rate", "seconds": scene.args.seconds, "connections": scene.args.connections}
    ours, theirs = [], []
    for _ in range(scene.args.runs):
        ours.append(load(scene.ours, {**order, "requests": [get(each, token) for each in our_paths]}))
        if scene.theirs is not None:
            server, their_token = scene.theirs
            theirs.append(load(server, {**order, "requests": [get(their_path, their_token)]}))
    return _compared(ours, theirs)


def _compared(ours: list[JSON], theirs: list[JSON]) -> JSON:
    found: JSON = {"ours": ours}
    if theirs:
        ratios = [mine["rate"] / other["rate"] for mine, other in zip(ours, theirs, strict=True)]
        found |= {"reference": theirs, "ratio": round(statistics.median(ratios), 2)}
    return found


MANY = 50
"""Jobs in one request."""
CLIENTS = 32
THEIR_CLIENTS = 14
"""The reference's best: it has 15 connections to its database and needs one a request; more requests than
that wait for each other, for up to 30 s each."""
REQUEST = JobRequest(("true",), environment={"PATH": "/usr/bin:/bin"}, cwd="/tmp")


def submit(scene: Scene) -> JSON:
    """Compare submits with 32 clients, and ours with the same number of calls of the port.

    Both are measured one by one, the port's in as many threads, and with many jobs at a time.
    """
    total = scene.args.submits
    order = {"kind": "once", "connections": CLIENTS}
    body = {"command": ["true"]}
    mine = {"method": "POST", "path": f"{C}/jobs", "token": scene.user.token, "json": body}
    many = {**mine, "path": f"{C}/jobs:submit", "json": {"jobs": [body] * MANY}}
    ours, bulk, theirs, port, together = [], [], [], [], []
    for _ in range(scene.args.runs):
        port.append(_by_port(scene.running.uri, total, CLIENTS))
        _await_none(scene.running.uri)
        together.append(_together(scene.running.uri, total))
        _await_none(scene.running.uri)
        ours.append(load(scene.ours, {**order, "requests": [mine] * total}))
        _await_none(scene.running.uri)
        bulk.append(MANY * load(scene.ours, {**order, "requests": [many] * (total // MANY)})["rate"])
        if scene.theirs is not None:
            server, token = scene.theirs
            path = "/v1/jobs/submit?" + urlencode({"command": "true"})
            other = {"method": "POST", "path": path, "token": token}
            best = {**order, "connections": THEIR_CLIENTS}
            _await_none(scene.running.uri)
            theirs.append(load(server, {**best, "requests": [other] * total}))
        _await_none(scene.running.uri)
    rates = [each["rate"] for each in ours]
    return {
        **_compared(ours, theirs), "port": _rounded(port), "ratio_to_port": _ratio(rates, port),
        "bulk": _rounded(bulk), "bulk_ratio_to_port": _ratio(bulk, port),
        "port_together": _rounded(together), "bulk_ratio_to_port_together": _ratio(bulk, together),
    }  # fmt: skip


def _rounded(rates: list[float]) -> list[float]:
    return [round(each, 1) for each in rates]


def _ratio(rates: list[float], others: list[float]) -> float:
    return round(statistics.median(one / other for one, other in zip(rates, others, strict=True)), 2)


def _together(uri: str, total: int) -> float:
    """Return the rate of submits without waiting for each one's answer."""
    with connect(uri) as connected:
        begin = time.perf_counter()
        found = connected.bulk.submit([REQUEST] * total)
        seconds = time.perf_counter() - begin
    if not all(isinstance(each, int) for each in found):
        raise SystemExit(f"a submit was refused: {found}")
    return total / seconds


def _by_port(uri: str, total: int, clients: int) -> float:
    """Return the rate of submits by threads of this process."""
    with connect(uri) as connected, ThreadPoolExecutor(clients) as pool:
        connected.jobs.submit(REQUEST)
        begin = time.perf_counter()
        list(pool.map(lambda _: connected.jobs.submit(REQUEST), range(total)))
        return total / (time.perf_counter() - begin)


def _await_none(uri: str) -> None:
    """Wait until all jobs have ended: those of one measurement must not take the cores of the next one."""
    with connect(uri) as connected:
        while connected.jobs.find(JobFilter(states=JobState.ACTIVE), limit=1):
            time.sleep(0.1)


FILTERS = (
    "", "&state=inactive", "&state=active", "&result=failed", "&result=completed,timeout", "&queue=debug",
    "&name=solve-7", "&name=solve-7*", "&name=*7&result=failed", "&since={since}", "&until={since}",
    "&since={since}&result=canceled&queue=batch",
)  # fmt: skip


def pages(scene: Scene) -> JSON:
    """Measure pages of 50 among many jobs, with each filter: the first page and later ones."""
    rest_servers.add_jobs(scene.folder / "state", scene.user.id, scene.args.jobs)
    since = f"{time.time() - 30.0 * scene.args.jobs / 2:.0f}"
    token = scene.access_token()
    found: JSON = {}
    for each in FILTERS:
        query = each.format(since=since)
        requests = [get(path, token) for path in _pages(scene.ours, f"{C}/jobs?limit=50{query}", token)]
        order = {"kind": "rate", "seconds": scene.args.seconds, "connections": 1, "requests": requests}
        found[each or "none"] = load(scene.ours, order)
    return {"filters": found, "worst_p99_ms": max(each["p99_ms"] for each in found.values())}


def _pages(server: Server, path: str, token: str, most: int = 20) -> Iterator[str]:
    """Yield the paths of the pages of a listing, at most so many."""
    cursor = ""
    for _ in range(most):
        found = path + (f"&cursor={cursor}" if cursor else "")
        yield found
        cursor = server.ask("GET", found, token)["next"]
        if not cursor:
            return


BUSY = "while :; do echo a line of output that is as long as lines often are; sleep 0.02; done"
STREAMS = 20
"""Of one user at most."""


def streams(scene: Scene) -> JSON:
    """Measure other routes, and our memory, while streams are open.

    Each idle one is of a job of its own, which is quiet or waits. The busy ones are of a job a user.
    """
    idle, busy = scene.args.idle, scene.args.busy
    writers, others = -(-busy // STREAMS), -(-idle // STREAMS)
    if writers + others > len(scene.users):
        raise SystemExit(f"--users: {idle + busy} streams need {writers + others} users")
    quiet = [each for each in scene.users[writers : writers + others] for _ in range(STREAMS)][:idle]
    before = scene.ours.memory
    writing = {user: scene.submit("sh", "-c", BUSY, token=user.token) for user in scene.users[:writers]}
    followed = [(user, writing[user]) for user in scene.users[:writers] for _ in range(STREAMS)][:busy]
    with ThreadPoolExecutor(16) as pool:
        waiting = pool.map(lambda user: scene.submit("sleep", "inf", token=user.token), quiet)
        followed += zip(quiet, waiting, strict=True)
    opened = [
        {**get(f"{C}/jobs/{job}/output?follow=true", user.token), "accept": "text/event-stream"}
        for user, job in followed
    ]
    token, memory = scene.access_token(), [before]
    probe = [get("/healthz", ""), get(f"{C}/jobs?limit=50", token), get(f"{C}/nodes", token)]
    order = {"kind": "streams", "seconds": max(scene.args.seconds, 5.0), "streams": opened, "probe": probe}
    found = load(scene.ours, order, lambda: memory.append(scene.ours.memory))
    with connect(scene.running.uri) as connected:
        connected.jobs.cancel_all()
    return {**found, "memory_mb": {"before": round(memory[0], 1), "with_streams": round(memory[1], 1)}}


def logins(scene: Scene) -> JSON:
    """Measure logins at once, from an address each, and /healthz meanwhile."""
    form = urlencode({"grant_type": "password", "password": PASSWORD})
    number = scene.args.logins
    requests = [
        {
            "method": "POST",
            "path": "/v2/oauth/token",
            "form": f"{form}&username=user{each % len(scene.users)}",
        }
        for each in range(number)
    ]
    order = {
        "kind": "once", "connections": number, "own_addresses": True, "requests": requests,
        "probe": [get("/healthz", "")], "retry_for": 30.0,
    }  # fmt: skip
    return load(scene.ours, order)


def main() -> None:
    """Print what was measured."""
    arguments = parser(__doc__ or "", runs=3)
    arguments.add_argument("--reference", type=Path, metavar="CHECKOUT")
    arguments.add_argument("--reference-python", type=Path, metavar="PYTHON", default=Path(sys.executable))
    arguments.add_argument("--part", action="append", choices=PARTS, help="only this; may be repeated")
    arguments.add_argument("--size", type=count, default=4, help="brokers")
    arguments.add_argument("--seconds", type=seconds, default=5.0, help="of each load")
    arguments.add_argument("--connections", type=count, default=8)
    arguments.add_argument("--users", type=count, default=60)
    arguments.add_argument("--submits", type=count, default=200)
    arguments.add_argument("--jobs", type=count, default=100_000)
    arguments.add_argument("--idle", type=count, default=1000, help="streams of jobs that are quiet")
    arguments.add_argument("--busy", type=count, default=50, help="streams of jobs that write")
    arguments.add_argument("--logins", type=count, default=500)
    args = arguments.parse_args()
    if args.reference and not args.real_flux:
        arguments.error("--reference: needs --real-flux, which it works with")
    chosen = {"pairs": pairs, "submit": submit, "pages": pages, "streams": streams, "logins": logins}
    with engines(args.real_flux) as found, tempfile.TemporaryDirectory(prefix="bench-") as name:
        engine = found[-1]
        with instance(engine, args.size) as running:
            scene = Scene(args, running, Path(name))
            with scene.stack:
                results = {part: chosen[part](scene) for part in args.part or PARTS}
    report("RESTful API", "requests/s, ms, MB", {"engine": engine.name, **results})


if __name__ == "__main__":
    main()
