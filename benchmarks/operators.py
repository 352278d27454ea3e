"""The operators that a benchmark measures: start one on a control plane, and see what it costs.

Each has a user name of its own at the API server, so that its requests can be found in the audit log.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from engines import DEADLINE, MINICLUSTER, wait_for
from writers import NAMESPACE, WARM_UP, document

from minicluster.document import crd
from minicluster.kube_client.resources import (
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    JOBS,
    MINICLUSTERS,
    NETWORK_POLICIES,
    SECRETS,
    SERVICES,
)
from tests.devcluster import Options, cluster
from tests.devcluster.audit import Request, record

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from minicluster.kube_client.resources import Resource
    from tests.devcluster import Access, Api, ControlPlane

ROOT = Path(__file__).parents[1]
USER = "measured-operator"
NAMESPACES = "/api/v1/namespaces"
WRITING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
CRD_FILE = "flux-framework.org_miniclusters.yaml"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Operator:
    """One implementation: its command (`{port}`: for health, `{metrics}`: for metrics) and what it makes.

    `kinds` are the objects of each MiniCluster, the one that is usually made last as the first.
    """

    name: str
    command: tuple[str, ...]
    crd: dict[str, Any]
    kinds: tuple[Resource, ...]


def ours() -> Operator:
    """Return this project's operator."""
    options = ("operator", "--all-namespaces", "--no-leader-election", "--log-format", "json")
    return Operator(
        "ours",
        (str(MINICLUSTER), *options, "--listen", "127.0.0.1:{port}"),
        crd(),
        (JOBS, SECRETS, CONFIG_MAPS, SERVICES, NETWORK_POLICIES, DISRUPTION_BUDGETS),
    )


def reference(binary: Path, definition: Path | None) -> Operator:
    """Return the reference operator; its CRD lies beside its binary where none is named."""
    file = definition or binary.with_name(CRD_FILE)
    if not file.is_file():
        raise SystemExit(f"--reference-crd: {file} is not there; name the reference's CRD")
    addresses = ("--health-probe-bind-address=127.0.0.1:{port}", "--metrics-bind-address=127.0.0.1:{metrics}")
    made = yaml.safe_load(file.read_text())
    return Operator("reference", (str(binary), *addresses), made, (JOBS, CONFIG_MAPS, SERVICES))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose which operators are measured."""
    parser.add_argument("--reference", type=Path, metavar="PATH", help="the reference operator's binary")
    parser.add_argument(
        "--reference-crd", type=Path, metavar="PATH", help=f"its CRD (default: {CRD_FILE} beside the binary)"
    )
    parser.add_argument("--without-ours", action="store_true", help="measure only the reference")


def chosen(args: argparse.Namespace) -> list[Operator]:
    """Return the operators that the options name."""
    found = [] if args.without_ours else [ours()]
    return [*found, reference(args.reference, args.reference_crd)] if args.reference else found


@contextlib.contextmanager
def fresh_plane(definition: dict[str, Any], nodes: int = 0) -> Iterator[ControlPlane]:
    """Have a new control plane, with a namespace to work in and one to warm up in, and perhaps real nodes."""
    with cluster(Options(crds=[definition], audit=True, nodes=nodes)) as plane:
        for name in (NAMESPACE, WARM_UP):
            plane.api.create(NAMESPACES, {"metadata": {"name": name}})
            must(
                partial(plane.api.exists, f"{NAMESPACES}/{name}/serviceaccounts/default"),
                "no service account",
            )
        yield plane


def must(condition: Callable[[], bool], problem: str) -> None:
    """Wait for a condition; end the program with a message where it does not come true."""
    if not wait_for(condition):
        raise SystemExit(f"{problem} within {DEADLINE:g} s")


@dataclass
class Running:
    """An operator's process, and its way in."""

    operator: Operator
    process: subprocess.Popen[bytes]
    log: Path
    port: int
    """Where it answers on loopback."""

    def lives(self) -> bool:
        """Return True; end the program if the operator has ended."""
        if self.process.poll() is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])
            raise SystemExit(f"{self.operator.name}: ended with {self.process.returncode}\n{tail}")
        return True

    def cpu(self) -> float:
        """Return the CPU-seconds it has used, its children's included."""
        return sum(cpu(pid) for pid in family(self.process.pid))

    def memory(self, key: str) -> float:
        """Return memory in MB (10^6 bytes), its children's included: VmRSS is now, VmHWM the most ever."""
        return round(sum(memory(pid, key) for pid in family(self.process.pid)), 1)


@contextlib.contextmanager
def running(operator: Operator, plane: ControlPlane, warm: bool = True) -> Iterator[Running]:
    """Run an operator; warm: it is ready, and has served one MiniCluster in a namespace of its own."""
    log = plane.directory / "logs" / f"{operator.name}.log"
    port, metrics = free_ports(2)
    command = [word.format(port=port, metrics=metrics) for word in operator.command]
    access = plane.user(USER, ["system:masters"])
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=os.environ | {"KUBECONFIG": str(access.kubeconfig)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    started = Running(operator, process, log, port)
    try:
        must(lambda: started.lives() and is_ready(port), f"{operator.name} is not ready")
        if warm:
            warm_up(started, plane.api)
        yield started
        started.lives()
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def warm_up(started: Running, api: Api) -> None:
    """Have the operator serve one MiniCluster: what it does for the first time only is not counted."""
    presence = Presence(api, started.operator, WARM_UP)
    api.create(MINICLUSTERS.path(WARM_UP), document("first", 1, WARM_UP))
    must(lambda: started.lives() and presence.complete(1), f"{started.operator.name} makes no objects")
    time.sleep(2)


def is_ready(port: int) -> bool:
    """Ask the operator itself."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_ports(count: int) -> list[int]:
    """Find ports without a listener."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def family(pid: int) -> list[int]:
    """List a process and all that descend from it."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += family(int(child))
    return found


def cpu(pid: int) -> float:
    """Return the CPU-seconds of a process and of its children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(each) for each in fields[11:15]) / TICKS
    return 0.0


def apiserver_cpu(plane: ControlPlane) -> float:
    """Return the CPU-seconds that the API server has used: what it costs to serve does not hang on load."""
    return cpu(plane.guardian.pids()["kube-apiserver"])


def memory(pid: int, key: str) -> float:
    """Return an entry of a process's memory, in MB."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


@dataclass
class Presence:
    """Counts the objects of a namespace cheaply: no list brings more than one of them."""

    api: Api
    operator: Operator
    namespace: str = NAMESPACE
    before: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.before = {each.plural: self._count(each) for each in self.operator.kinds}

    def complete(self, count: int) -> bool:
        """Whether this many MiniClusters have all their objects; asks as little as that takes."""
        return all(self._count(each) - self.before[each.plural] >= count for each in self.operator.kinds)

    def _count(self, resource: Resource) -> int:
        found = self.api.get(resource.path(self.namespace), limit="1")
        return len(found["items"]) + int(found["metadata"].get("remainingItemCount") or 0)


class Arrivals(threading.Thread):
    """Watches Jobs appear, their metadata only; `wait` returns when all of them have."""

    def __init__(self, access: Access, api: Api, count: int) -> None:
        super().__init__(daemon=True)
        self._left = count
        self._all = threading.Event()
        path = JOBS.path(NAMESPACE)
        version = api.get(path, limit="1")["metadata"]["resourceVersion"]
        address = access.url.removeprefix("https://")
        self._connection = http.client.HTTPSConnection(address, context=access.tls())
        accept = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
        url = f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=3600"
        self._connection.request("GET", url, headers=accept)
        self._answer = self._connection.getresponse()

    def run(self) -> None:
        """Count until all have come."""
        while self._left and (line := self._answer.readline()):
            self._left -= line.startswith(b'{"type":"ADDED"')
        self._connection.close()
        self._all.set()

    def wait(self, started: Running, seconds: float) -> None:
        """Wait until all have come."""
        deadline = time.monotonic() + seconds
        while not self._all.wait(1):
            started.lives()
            if time.monotonic() > deadline:
                raise SystemExit(f"{started.operator.name}: {self._left} Jobs lack after {seconds:g} s")


class Audit:
    """The operator's requests from now on, from the API server's audit log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size
        self._rest = b""
        self._seen: set[str] = set()

    def new(self) -> list[Request]:
        """Return the requests since the last call; a watch counts once, when it began."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            text = self._rest + file.read()
            self._offset = file.tell()
        *lines, self._rest = text.split(b"\n")
        events = [json.loads(line) for line in lines if USER.encode() in line]
        fresh = [event for event in events if event["auditID"] not in self._seen]
        self._seen.update(event["auditID"] for event in events)
        unique = {event["auditID"]: event for event in fresh}.values()
        return [each for each in map(record, unique) if each.user == USER]

    def until_quiet(self, quiet: float, at_most: float) -> list[Request]:
        """Return the requests until none of them was a write for `quiet` seconds."""
        found = self.new()
        begun = since = time.monotonic()
        while time.monotonic() - since < quiet and time.monotonic() - begun < at_most:
            time.sleep(0.5)
            more = self.new()
            if any(each.verb in WRITING for each in more):
                since = time.monotonic()
            found += more
        return found


def writes(requests: Sequence[Request]) -> Counter[str]:
    """Count the writes that were accepted or refused, by verb and kind, the warm-up's left out."""
    counted = (each for each in requests if each.namespace == NAMESPACE)
    return Counter(described(each) for each in counted if each.verb in WRITING)


def idle_requests(requests: Sequence[Request]) -> Counter[str]:
    """Count the requests of a time without work: all but watches, and the Lease's renewals."""
    kept = (each for each in requests if each.verb != "watch" and each.resource != "leases")
    return Counter(described(each) for each in kept)


def described(request: Request) -> str:
    """Return a request as a text such as `patch miniclusters/status`; one that failed has its code."""
    target = "/".join(part for part in (request.resource or request.uri, request.subresource) if part)
    return f"{request.verb} {target}" + (f" {request.code}" if request.code >= 400 else "")


@contextlib.contextmanager
def writer(role: str, plane: ControlPlane, root: Path = ROOT, **options: int) -> Iterator[Writer]:
    """Have a process of writers.py that is ready to begin, of the sources in that folder."""
    script = root / "benchmarks" / "writers.py"
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    process = subprocess.Popen(
        [sys.executable, str(script), role, str(plane.kubeconfig), *words],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise SystemExit(f"writers.py {role} did not become ready")
        yield Writer(process)
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True, slots=True)
class Writer:
    """A process of writers.py."""

    process: subprocess.Popen[str]

    def go(self) -> dict[str, Any]:
        """Have it write; return the figures that it prints in the end."""
        output, _ = self.process.communicate("go\n")
        if self.process.returncode:
            raise SystemExit(f"writers.py ended with {self.process.returncode}")
        found: dict[str, Any] = json.loads(output)
        return found
