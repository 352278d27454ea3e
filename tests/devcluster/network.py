"""The network of a cluster with nodes: a bridge in a network namespace of its own, one cable a node.

On the host there is one interface, `mck8s<slot>`: the far end of a cable into that namespace, with the
address at which the nodes reach the API server and the cluster's DNS. All else is in namespaces that
processes of the cluster hold open, so that the kernel removes it, and that interface with its routes, when
they end.

Slots keep the clusters of a machine apart: each takes one, with the addresses 10.(100+slot).0.0/16. Services
have the same addresses in all of them: only the nodes know those.
"""

import contextlib
import errno
import ipaddress
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster.errors import ComponentError, HarnessError
from tests.devcluster.processes import Guardian
from tests.devcluster.waiting import until

RACK = "rack"  # the process that holds the bridge's namespace, and the bridge
ENFORCER = "enforcer"  # the process that enforces NetworkPolicies, and its socket in the cluster's directory
SLOTS = range(100)
NUMBERS = range(1, 51)  # of nodes: pods' networks are 10.x.1.0 and up, the nodes' addresses 10.x.0.11 and up
CABLE = "uplink"
FOLDERS = "/usr/sbin:/sbin"  # of programs; PATH may lack them
SECONDS = 120.0
# A node forwards; what passes its bridge is looked at too; and who is refused hears of it each time.
SWITCHES = """
cd /proc/sys/net
echo 1 >ipv4/ip_forward
echo 0 >ipv4/icmp_ratelimit
echo 1 >bridge/bridge-nf-call-iptables
"""
IP_FREEBIND = 15  # <linux/in.h>


@dataclass(frozen=True, slots=True)
class Network:
    """The names and addresses of one slot; nodes are numbered from 1."""

    slot: int

    @property
    def interface(self) -> str:
        """The host's end of the cable."""
        return f"mck8s{self.slot}"

    @property
    def prefix(self) -> str:
        """The first half of all addresses."""
        return f"10.{100 + self.slot}"

    @property
    def host(self) -> str:
        """The host's address: of the API server and of the DNS."""
        return f"{self.prefix}.0.1"

    @property
    def pods(self) -> str:
        """All pods' addresses, and the nodes'."""
        return f"{self.prefix}.0.0/16"

    def node(self, number: int) -> str:
        """Return a node's address."""
        return f"{self.prefix}.0.{10 + number}"

    def pods_of(self, number: int) -> str:
        """Return the addresses of a node's pods."""
        return f"{self.prefix}.{number}.0/24"


def take_slot() -> tuple[Network, socket.socket]:
    """Choose a network that no other cluster and no route of this machine has, and lock it.

    The lock is a socket with a name and no file: the guardian holds it, and it is free when that ends.
    """
    used = routes()
    for slot in SLOTS:
        network = Network(slot)
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0minicluster-test-network-{slot}")
        except OSError as error:
            lock.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        own = parse(network.pods)
        if not any(own.overlaps(other) for name, other in used if name != network.interface):
            return network, lock
        lock.close()
    raise HarnessError(f"all of {SLOTS.stop} networks from {Network(0).pods} on are in use")


def routes() -> list[tuple[str, ipaddress.IPv4Network]]:
    """List where this machine sends what: interfaces and networks, without the default route."""
    listed = json.loads(ip("-json", "-4", "route", "show", "table", "all") or "[]")
    found = []
    for route in listed:
        with contextlib.suppress(ValueError):
            found.append((route.get("dev", ""), parse(route["dst"])))
    return found


def parse(network: str) -> ipaddress.IPv4Network:
    """Read a network as `ip` writes it; raises ValueError for `default`."""
    return ipaddress.IPv4Network(network, strict=False)


def bring_up(network: Network, guardian: Guardian) -> None:
    """Make the bridge and the host's interface."""
    with contextlib.suppress(ComponentError):
        ip("link", "del", network.interface)  # of the slot's last cluster: the kernel takes its time
    rack = hold(guardian, RACK, ["--net"])
    commands(
        [
            f"link add {network.interface} type veth peer name {CABLE} netns {rack}",
            f"addr add {network.host}/24 dev {network.interface}",
            f"link set {network.interface} up",
        ]
    )
    commands(
        [
            "link set lo up",
            "link add bridge type bridge",
            "link set bridge up",
            f"link set {CABLE} master bridge",
            f"link set {CABLE} up",
        ],
        rack,
    )


def hold(
    guardian: Guardian, name: str, options: list[str], then: Iterable[str] = ("sleep", "infinity")
) -> int:
    """Start a process in namespaces of its own; returns its pid once it is in them."""
    pid = guardian.start(name, [program("unshare"), *options, "--", *then])
    own = Path("/proc/self/ns/net").stat().st_ino

    def entered() -> bool:
        guardian.check()
        return Path(f"/proc/{pid}/ns/net").stat().st_ino != own

    until(entered, f"{name} to be in a network of its own", SECONDS)
    return pid


def plug(network: Network, rack: int, number: int, name: str, node: int) -> None:
    """Lay the cable between the bridge and a node, give it its address, and route its pods there."""
    commands(
        [
            f"link add {name} type veth peer name eth0 netns {node}",
            f"link set {name} master bridge",
            f"link set {name} up",
        ],
        rack,
    )
    commands(
        [
            "link set lo up",
            f"addr add {network.node(number)}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {network.host}",
        ],
        node,
    )
    connect(network, node, (peer for peer in NUMBERS if peer != number))
    commands([f"route replace {network.pods_of(number)} via {network.node(number)}"])
    call([*inside(node), program("sh"), "-c", f"({SWITCHES}) 2>&1 || :"])


def connect(network: Network, node: int, peers: Iterable[int]) -> None:
    """Let a node reach the pods of others."""
    commands([f"route replace {network.pods_of(peer)} via {network.node(peer)}" for peer in peers], node)


def disconnect(network: Network, node: int, peers: Iterable[int]) -> None:
    """Have a node lose, without a word, what its pods send to the pods of others."""
    commands([f"route replace blackhole {network.pods_of(peer)}" for peer in peers], node)


def forward(network: Network, *, on: bool) -> None:
    """Have this machine forward what comes from a cluster; which interface it comes in by decides."""
    Path(f"/proc/sys/net/ipv4/conf/{network.interface}/forwarding").write_text(f"{int(on)}\n")


def commands(lines: Iterable[str], namespace: int | None = None) -> None:
    """Have `ip` carry out one command a line, in the network of a process if one is named."""
    call([*inside(namespace), program("ip"), "-batch", "-"], "\n".join(lines))


def ip(*words: str) -> str:
    """Run one command of `ip` on the host."""
    return call([program("ip"), *words])


def inside(namespace: int | None) -> list[str]:
    """Return what enters the network of a process."""
    return [] if namespace is None else [program("nsenter"), f"--net=/proc/{namespace}/ns/net", "--"]


def program(name: str) -> str:
    """Find a program of the system."""
    folders = f"{os.environ.get('PATH', '')}:{FOLDERS}"
    found = shutil.which(name, path=folders)
    if found is None:
        raise HarnessError(f"there is no {name} in {folders}")
    return str(Path(found).absolute())


def call(argv: list[str], text: str = "") -> str:
    """Run a program of the system; raise ComponentError with its output."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ComponentError(f"`{' '.join(argv)}` failed: {done.stderr.strip()}; it was told: {text!r}")
    return done.stdout
