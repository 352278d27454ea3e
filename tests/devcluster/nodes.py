"""Real nodes: a containerd, a kubelet and a kube-proxy each, in namespaces of their own.

A node is a process that holds namespaces: of the network, with a cable to the cluster's bridge; of mounts,
with a /run, /var/lib and /var/log of its own; and of processes, whose first one it starts. All else on the
node is in them: when that first process is killed the kernel ends everything that ran on the node, its
containers too, and its mounts, its interfaces and its tables are gone. Its control groups remain: we remove
them.
"""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from tests.devcluster import components, control_groups, network, node_config
from tests.devcluster.api import Api
from tests.devcluster.errors import ComponentError
from tests.devcluster.fake_nodes import node_names
from tests.devcluster.lookup import Programs
from tests.devcluster.network import call, program
from tests.devcluster.node_config import NodeSettings
from tests.devcluster.node_link import Link
from tests.devcluster.processes import Guardian
from tests.devcluster.waiting import until

SECONDS = 240.0  # to be Ready: it takes 3 s; a machine that also builds something takes longer
PIDS = "io.kubernetes.container.name"
# The first process of a node. It adopts what others leave behind (shims), and collects it when it ends.
FIRST = """
set -e
for folder in /run /var/lib /var/log; do mount -t tmpfs node $folder; done
: >"$0"
while :; do sleep 3600 & wait; done
"""
NAMESPACES = ("--net", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc")


@dataclass(frozen=True, slots=True)
class Container:
    """A container that runs on a node; `pid` is its first process, as the machine sees it."""

    namespace: str
    pod: str
    name: str
    pid: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster."""

    settings: NodeSettings
    guardian: Guardian
    programs: Programs

    @property
    def name(self) -> str:
        """The node's name: of its Node object, and of its processes."""
        return self.settings.name

    @property
    def address(self) -> str:
        """The node's address."""
        return self.settings.address

    @property
    def pid(self) -> int:
        """The process that holds the node's namespaces."""
        return self.link.pid

    @property
    def link(self) -> Link:
        """How the node is connected to others."""
        return Link(self.settings, self.guardian)

    def start(self) -> None:
        """Start the node as after a loss of power; it is Ready some time later."""
        self.power_on()
        self.start_kubelet()

    def power_on(self) -> None:
        """Make the namespaces, and start containerd in them."""
        settings, mark = self.settings, self.settings.folder / "started"
        mark.unlink(missing_ok=True)
        control_groups.create(self.guardian.directory, self.name)
        first = [program("sh"), "-c", FIRST, str(mark)]
        pid = network.hold(self.guardian, self.name, list(NAMESPACES), first)
        rack = self.guardian.pids()[network.RACK]
        network.plug(settings.network, rack, settings.number, self.name, pid)
        until(mark.exists, f"the mounts of {self.name}")
        self.run("containerd", [self.programs["containerd"], "--config", settings.folder / "containerd.toml"])

    def start_kubelet(self) -> None:
        """Start the kubelet, once containerd answers, and the proxy."""
        folder, socket = self.settings.folder, Path(f"/proc/{self.pid}/root{node_config.SOCKET}")

        def listens() -> bool:
            self.guardian.check()
            return socket.exists()

        until(listens, f"containerd of {self.name}", SECONDS)
        flags = node_config.kubelet_flags(
            self.settings, folder / "kubelet.yaml", folder / "kubelet.kubeconfig"
        )
        self.run("kubelet", components.command(self.programs["kubelet"], flags, {}))
        if f"{self.name}-kube-proxy" not in self.guardian.pids():
            self.run("kube-proxy", [self.programs["kube-proxy"], f"--config={folder / 'proxy.yaml'}"])

    def stop_kubelet(self) -> None:
        """Kill the kubelet: its containers run on, but are not reported; `start_kubelet` ends that."""
        self.guardian.stop(f"{self.name}-kubelet", Signals.SIGKILL)

    def kill(self) -> None:
        """Lose the node as by a loss of power: all that ran on it is gone at once; `start` brings it back."""
        self.guardian.stop(self.name, Signals.SIGKILL)
        for name in ("kubelet", "kube-proxy", "containerd"):
            self.guardian.stop(f"{self.name}-{name}", Signals.SIGKILL)
        control_groups.remove(self.guardian.directory, self.name)

    def pods(self) -> list[Container]:
        """List the containers that run, those that hold pods' namespaces left out."""
        tasks = self.ctr("tasks", "list").splitlines()[1:]
        pids = {fields[0]: int(fields[1]) for fields in map(str.split, tasks) if fields[2] == "RUNNING"}
        outside = outer_pids(self.pid)
        found = []
        for name, pid in pids.items():
            labels = self.labels(name) if pid in outside else {}
            if container := labels.get(PIDS):
                pod = labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.name"]
                found.append(Container(*pod, container, outside[pid]))
        return found

    def labels(self, container: str) -> dict[str, str]:
        """Return a container's labels, none where it is gone by now."""
        try:
            return json.loads(self.ctr("containers", "info", container)).get("Labels") or {}
        except ComponentError:
            return {}

    def ctr(self, *words: str | Path) -> str:
        """Run a command of containerd's own client."""
        client = [str(self.programs["ctr"]), "--address", node_config.SOCKET, "--namespace", "k8s.io"]
        return call([*self.inside(), *client, *map(str, words)])

    def inside(self) -> list[str]:
        """Return what enters the node."""
        spaces = f"/proc/{self.pid}/ns"
        entered = [f"--net={spaces}/net", f"--mount={spaces}/mnt", f"--pid={spaces}/pid_for_children"]
        return [program("nsenter"), *entered, "--"]

    def run(self, name: str, argv: Sequence[str | Path]) -> None:
        """Start one of the node's programs in it."""
        folders = [str(self.programs["containerd"].parent), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]
        environment = {**components.GO, "PATH": os.pathsep.join(folders)}
        self.guardian.start(f"{self.name}-{name}", [*self.inside(), *argv], environment)


def outer_pids(node: int) -> dict[int, int]:
    """Map the pids in a node to those of the machine."""
    space = Path(f"/proc/{node}/ns/pid_for_children").stat().st_ino
    depth = len(field(Path(f"/proc/{node}"), "NSpid"))
    found = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                pids = field(process, "NSpid")
                if len(pids) > depth and within(process, space):
                    found[pids[depth]] = int(process.name)
            except OSError:
                continue  # it ended
    return found


def within(process: Path, space: int) -> bool:
    """Return whether a process is in a namespace of processes, or in one below it."""
    if (process / "ns/pid").stat().st_ino == space:
        return True
    parent = Path("/proc") / str(field(process, "PPid")[0])
    return parent.name != "0" and within(parent, space)


def field(process: Path, name: str) -> list[int]:
    """Read the numbers of a line of a process's status."""
    for line in (process / "status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return [int(word) for word in value.split()]
    return []


def wait_ready(api: Api, nodes: Iterable[Node], guardian: Guardian) -> None:
    """Wait until pods can go to all of the nodes, and find Services from there."""
    nodes = list(nodes)
    names = {node.name for node in nodes}

    def ready() -> bool:
        guardian.check()
        return names <= node_names(api, ready=True)

    until(ready, f"{', '.join(sorted(names))} to become Ready", SECONDS)
    for node in nodes:
        url = f"http://{node.address}:{node_config.PROXY_PORT}/healthz"
        until(lambda url=url: answers(url), f"kube-proxy of {node.name}", SECONDS)  # type: ignore[misc]


def answers(url: str) -> bool:
    """Return whether an HTTP server answers its health check with success."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
