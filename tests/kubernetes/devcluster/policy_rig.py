"""A node's network without Kubernetes: pods on one bridge, one beyond it, and connections between them."""

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.devcluster import network, network_policies
from tests.devcluster.network import call, commands, inside, program
from tests.devcluster.network_policies import NodeAddresses
from tests.devcluster.policy_objects import Labels, Objects, Pod, Policy
from tests.kubernetes.reach import OPEN, REFUSED

NODE_ADDRESSES = NodeAddresses(pods="10.99.1.0/24", machine="10.99.0.1")
NODE = "10.99.1.1"
SERVICE = "10.96.0.9"
PORTS = (("web", "tcp", 8080),)
PODS = {
    "client": Pod("one", {"app": "client", "tier": "front"}, "10.99.1.2"),
    "server": Pod("one", {"app": "server"}, "10.99.1.3", PORTS),
    "outsider": Pod("two", {"app": "client"}, "10.99.1.4"),
    "far": Pod("one", {"app": "far"}, "10.99.2.2", (("web", "tcp", 9000),)),
}
NAMESPACES: dict[str, Labels] = {"one": {"team": "red"}, "two": {"team": "blue"}}
# What a pod does: it listens, and carries out one command a line, `tcp ADDRESS PORT` or `udp ADDRESS PORT`.
PROGRAM = """
import errno, socket, sys, threading
def echo(server):
    while True:
        data, peer = server.recvfrom(16)
        server.sendto(data, peer)
print(flush=True)
sys.stdin.readline()
for port in 80, 8080, 8085, 9000:
    held = socket.create_server(("", port), backlog=128)
    globals()[f"held_{port}"] = held
server = socket.socket(type=socket.SOCK_DGRAM)
server.bind(("", 8080))
threading.Thread(target=echo, args=[server], daemon=True).start()
print(flush=True)
for line in sys.stdin:
    kind, address, port = line.split()
    types = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
    with socket.socket(type=types[kind]) as client:
        client.settimeout(20)
        try:
            client.connect((address, int(port)))
            if kind == "udp":
                client.send(b"?")
                client.recv(1)
            print("open", flush=True)
        except OSError as error:
            print(errno.errorcode.get(error.errno, repr(error)), flush=True)
"""
# What kube-proxy has for a Service with the one pod `server`.
PROXY = """
table ip services {{
    chain prerouting {{
        type nat hook prerouting priority dstnat;
        ip daddr {service} dnat to {pod}
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat;
        ip saddr {pod} ip daddr {pod} masquerade
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Rig:
    """The networks that run, by name: those of the pods, of the node, and of the machine."""

    processes: dict[str, subprocess.Popen[str]]

    def load(self, policies: Iterable[Policy], left_out: str = "") -> None:
        """Have the node enforce policies; a pod that is left out is not known to it."""
        pods = [pod for name, pod in PODS.items() if name != left_out]
        text = network_policies.ruleset(NODE_ADDRESSES, Objects(pods, NAMESPACES, list(policies)))
        call([*inside(self.processes["node"].pid), program("nft"), "-f", "-"], text)

    def dial(self, connection: str) -> bool:
        """Try a connection, `client>server:8080` or `client>server:8080/udp`; return whether it stands.

        Raises AssertionError for any end but these two.
        """
        source, _, rest = connection.partition(">")
        target, _, port = rest.partition(":")
        number, _, kind = port.partition("/")
        answer = self.ask(source, f"{kind or 'tcp'} {PODS[target].address} {number}")
        assert answer in {OPEN, REFUSED}, f"{connection}: {answer}"
        return answer == OPEN

    def ask(self, name: str, line: str) -> str:
        """Have a process do something; return its answer."""
        process = self.processes[name]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()


@contextlib.contextmanager
def rig() -> Iterator[Rig]:
    """Have the networks, for as long as the block takes."""
    with contextlib.ExitStack() as ending:
        found = Rig({name: ending.enter_context(process()) for name in ("node", "machine", *PODS)})
        pids = {name: one.pid for name, one in found.processes.items()}
        wire(pids)
        for name in pids:
            found.ask(name, "listen")
        yield found


@contextlib.contextmanager
def process() -> Iterator[subprocess.Popen[str]]:
    """Have a process in a network of its own."""
    argv = [program("unshare"), "--net", "--", sys.executable, "-I", "-S", "-c", PROGRAM]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        one.stdout.readline()  # it is in its network
        yield one
        one.kill()


def wire(pids: dict[str, int]) -> None:
    """Connect the pods to the node, and give all of them their addresses."""
    node = pids["node"]
    commands(["link set lo up", "link add cni0 type bridge", f"addr add {NODE}/24 dev cni0"], node)
    call([*inside(node), program("sh"), "-c", network.SWITCHES])
    proxy = PROXY.format(service=SERVICE, pod=PODS["server"].address)
    call([*inside(node), program("nft"), "-f", "-"], proxy)
    for name in ("client", "server", "outsider"):
        attach(node, pids[name], name, PODS[name].address, NODE)
        commands([f"link set {name} master cni0", f"link set {name} type bridge_slave hairpin on"], node)
    commands(["link set cni0 up"], node)
    for name, address in (("far", PODS["far"].address), ("machine", NODE_ADDRESSES.machine)):
        gateway = f"{address.rpartition('.')[0]}.254"
        attach(node, pids[name], name, address, gateway)
        commands([f"addr add {gateway}/24 dev {name}"], node)


def attach(node: int, pod: int, name: str, address: str, gateway: str) -> None:
    """Lay a cable between the node and a pod."""
    commands([f"link add {name} type veth peer name eth0 netns {pod}", f"link set {name} up"], node)
    up = ["link set lo up", f"addr add {address}/24 dev eth0", "link set eth0 up"]
    commands([*up, f"route add default via {gateway}"], pod)
