"""The enforcer of NetworkPolicies, a process of every cluster with nodes.

It follows pods, namespaces and policies, and is told by the nodes' network plug-in (pod_address.py) which pod
gets which address. Whenever that changes what a node's rules are, it replaces them, in the node's network.
`python -m tests.devcluster.enforcer --help`.
"""

import argparse
import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.devcluster import network, network_policies, policy_objects
from tests.devcluster.access import read_access
from tests.devcluster.api import Api, Object
from tests.devcluster.errors import ComponentError
from tests.devcluster.network import ENFORCER, Network, program
from tests.devcluster.network_policies import NodeAddresses
from tests.devcluster.object_watch import GONE, Watch
from tests.devcluster.policy_objects import Labels, Objects, Pod, Policy
from tests.devcluster.processes import Guardian

COLLECTIONS = {
    "pods": "/api/v1/pods",
    "namespaces": "/api/v1/namespaces",
    "policies": "/apis/networking.k8s.io/v1/networkpolicies",
}
REDUCED: dict[str, Callable[[Object], Any]] = {
    "pods": policy_objects.pod,
    "namespaces": lambda item: (item["metadata"]["name"], item["metadata"].get("labels") or {}),
    "policies": policy_objects.policy,
}
NODE = re.compile(r"node-\d+")
GATHERING = 0.01  # seconds in which further changes are waited for: pods start, and end, many at once
SECONDS = 60.0  # for the network plug-in to say what it has to


@dataclass
class Knowledge:
    """What is known, by uid; several threads tell it, and each change sets `changed`.

    `addresses` are those that the network plug-in has told, `waiting` the connections by which it did.
    """

    pods: dict[str, Pod | None] = field(default_factory=dict)
    namespaces: dict[str, tuple[str, Labels]] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)
    addresses: dict[str, str] = field(default_factory=dict)
    waiting: list[socket.socket] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: threading.Event = field(default_factory=threading.Event)

    def replace(self, kind: str, items: list[Object]) -> None:
        """Know all objects of a kind."""
        known = getattr(self, kind)
        with self.lock:
            known.clear()
            known.update({uid(item): REDUCED[kind](item) for item in items})
            self.listed.add(kind)
            self.changed.set()

    def change(self, kind: str, what: str, item: Object) -> None:
        """Know one object as it became, or that it is gone."""
        known, key = getattr(self, kind), uid(item)
        with self.lock:
            before = known.get(key)
            if what == GONE:
                known.pop(key, None)
                self.addresses.pop(key, None)
            else:
                known[key] = REDUCED[kind](item)
            if known.get(key) != before:
                self.changed.set()

    def announce(self, connection: socket.socket, key: str, address: str) -> None:
        """Know a pod's address before its kubelet tells it; the connection waits for the rules."""
        with self.lock:
            self.addresses[key] = address
            self.waiting.append(connection)
            self.changed.set()

    def taken(self) -> tuple[Objects, list[socket.socket]] | None:
        """Return all that is known, and who waits for it; None before all kinds were listed."""
        with self.lock:
            if self.listed != COLLECTIONS.keys():
                return None
            placed = [
                replace(pod, address=self.addresses.get(key) or pod.address)
                for key, pod in self.pods.items()
                if pod is not None
            ]
            pods = [pod for pod in placed if pod.address]
            waiting, self.waiting = self.waiting, []
            return Objects(pods, dict(self.namespaces.values()), list(self.policies.values())), waiting


def uid(item: Object) -> str:
    """Return what no other object ever had."""
    return str(item["metadata"]["uid"])


@dataclass
class Tables:
    """The tables of a cluster's nodes; `texts` are what they are, by the node's name and process."""

    guardian: Guardian
    network: Network
    texts: dict[tuple[str, int], str] = field(default_factory=dict)

    def enforce(self, objects: Objects) -> None:
        """Give each node that runs the rules for its pods; raises ComponentError."""
        running = self.running()
        self.texts = {node: text for node, text in self.texts.items() if node in running}
        for node in running:
            pods = self.network.pods_of(number_of(node[0]))
            text = network_policies.ruleset(NodeAddresses(pods, self.network.host), objects)
            if text != self.texts.get(node):
                self.load(node, text)

    def load(self, node: tuple[str, int], text: str) -> None:
        """Replace a node's table; a node that is gone by now needs none."""
        try:
            network.call([*network.inside(node[1]), program("nft"), "-f", "-"], text)
        except ComponentError:
            if node in self.running():
                raise
        else:
            self.texts[node] = text

    def running(self) -> set[tuple[str, int]]:
        """Return the nodes that run: name, and the process that holds the namespaces."""
        return {(name, pid) for name, pid in self.guardian.pids().items() if NODE.fullmatch(name)}


def number_of(name: str) -> int:
    """Return a node's number."""
    return int(name.partition("-")[2])


def work(knowledge: Knowledge, tables: Tables) -> None:
    """Enforce what is known, for ever; nothing is done while nothing changes."""
    while knowledge.changed.wait():
        time.sleep(GATHERING)
        knowledge.changed.clear()
        if taken := knowledge.taken():
            objects, waiting = taken
            tables.enforce(objects)
            for connection in waiting:
                with contextlib.suppress(OSError), connection:  # it may have given up
                    connection.sendall(b"\n")


def listen(knowledge: Knowledge, listener: socket.socket) -> None:
    """Take what the network plug-in tells, one line a connection."""
    while True:
        connection, _ = listener.accept()
        connection.settimeout(SECONDS)
        try:
            message = json.loads(connection.makefile("rb").readline())
        except (OSError, ValueError):
            connection.close()
        else:
            knowledge.announce(connection, message["uid"], message["address"])


def main() -> None:
    """Enforce the policies of one cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="of the cluster")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--slot", type=int, required=True, help="of the cluster's network")
    options = parser.parse_args()
    knowledge, access = Knowledge(), read_access(options.kubeconfig)
    tables = Tables(Guardian(options.directory), Network(options.slot))
    own: Path = options.directory / ENFORCER
    own.unlink(missing_ok=True)  # of one that ended
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(own))
        listener.listen(64)
        threads: list[Callable[[], None]] = [lambda: listen(knowledge, listener)]
        for kind, path in COLLECTIONS.items():
            callbacks = partial(knowledge.replace, kind), partial(knowledge.change, kind)
            threads.append(Watch(Api(access, ENFORCER), path, *callbacks).follow)
        for target in threads:
            threading.Thread(target=target, daemon=True).start()
        work(knowledge, tables)


if __name__ == "__main__":
    main()
