"""Connections: those that are tried from within pods and from nodes, and those that programs have."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster import ComponentError, ControlPlane, network
from tests.devcluster.nodes import Node
from tests.kubernetes.live import BROKER_PORT

OPEN = "open"
NOBODY = "ECONNREFUSED"
"""It got there, and nobody listens."""
REFUSED = "EHOSTUNREACH"
"""What the enforcer of NetworkPolicies answers."""
PROGRAM = """
import errno, socket, sys
with socket.socket() as client:
    client.settimeout(20)
    number = client.connect_ex((sys.argv[1], int(sys.argv[2])))
    print(errno.errorcode[number] if number else "open")
"""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where connections come from and go to: a pod or a node, by a process in its network."""

    pid: int
    address: str

    def dial(self, address: str, port: int) -> str:
        """Try a TCP connection; return OPEN, or the name of the error."""
        program = [sys.executable, "-I", "-S", "-c", PROGRAM, address, str(port)]
        argv = [*network.inside(self.pid), *program]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return done.stdout.strip()


def pods(nodes: ControlPlane, *namespaces: str) -> dict[str, Endpoint]:
    """Return the pods of namespaces that run, by name; each name is there once."""
    running = {(each.namespace, each.pod): each.pid for node in nodes.nodes for each in node.pods()}
    found = {}
    for namespace in namespaces:
        for pod in nodes.api.items(f"/api/v1/namespaces/{namespace}/pods"):
            name = pod["metadata"]["name"]
            if pid := running.get((namespace, name)):
                found[name] = Endpoint(pid, pod["status"]["podIP"])
    return found


@contextlib.contextmanager
def watching(nodes: list[Node]) -> Iterator[set[tuple[str, str]]]:
    """Note, while the block runs, between which addresses pods have TCP connections but the brokers' own."""
    seen: set[tuple[str, str]] = set()
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(nodes, seen, stop))
    watcher.start()
    try:
        yield seen
    finally:
        stop.set()
        watcher.join()


def watch(nodes: list[Node], seen: set[tuple[str, str]], stop: threading.Event) -> None:
    """Look again and again, until told to stop."""
    while not stop.wait(0.05):
        for node in nodes:
            with contextlib.suppress(OSError, ComponentError):  # one look of many
                for container in node.pods():
                    seen.update(connections(container.pid))


def connections(pid: int) -> set[tuple[str, str]]:
    """Return the established connections of a process's network, the brokers' own left out."""
    try:
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    except OSError:
        return set()
    found = set()
    for local, remote, state in (line.split()[1:4] for line in lines):
        ports = {int(end.partition(":")[2], 16) for end in (local, remote)}
        if state == "01" and BROKER_PORT not in ports:
            found.add((address(local), address(remote)))
    return found


def address(text: str) -> str:
    """Return an address of /proc/net/tcp, which has its bytes in the machine's order."""
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(text.partition(":")[0])))
