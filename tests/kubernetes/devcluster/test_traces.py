"""A cluster with nodes leaves nothing on the machine, however it ends, and bears others beside it."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.devcluster import (
    ControlPlane,
    HarnessError,
    Options,
    cluster,
    control_groups,
    node_images,
    start,
    state,
    until,
)
from tests.devcluster.network import call, ip, program
from tests.kubernetes import script_pods
from tests.kubernetes.script_pods import pod

ROOT = Path(__file__).parents[3]
ONE = Options(nodes=1)
MEMORY = {"name": "memory", "emptyDir": {"medium": "Memory"}}
WORK = pod("work", node_images.PLAIN, "sleep infinity", volumes=[MEMORY])
# Where the programs of nodes would write on a machine that is theirs.
NAMES = ("/run", "/run/netns", "/var/lib", "/var/lib/kubelet", "/var/lib/cni", "/var/log", "/etc/cni")
FOLDERS = [Path(name) for name in NAMES]


@dataclass(frozen=True, slots=True)
class Own:
    """How the traces of one cluster can be told from another's."""

    directory: Path
    interface: str

    def processes(self) -> list[int]:
        """List the cluster's processes."""
        return state.marked(self.directory)

    def groups(self) -> list[Path]:
        """List its control groups."""
        own = control_groups.group(self.directory)
        return [hierarchy / own for hierarchy in control_groups.hierarchies() if (hierarchy / own).exists()]

    def links(self) -> list[str]:
        """List its interfaces and routes."""
        lines = [*ip("-o", "link").splitlines(), *ip("route", "show", "table", "all").splitlines()]
        return [line for line in lines if f"{self.interface}@" in line or f"dev {self.interface} " in line]

    def all(self) -> list[object]:
        """List everything that is known to be the cluster's."""
        files = [self.directory] if self.directory.exists() else []
        return [*self.processes(), *self.groups(), *self.links(), *files]


def own(plane: ControlPlane) -> Own:
    """Say what is a cluster's own."""
    assert plane.rack is not None
    return Own(plane.directory, plane.rack.network.interface)


def machine() -> dict[str, object]:
    """Describe what clusters share, and must find as they left it."""
    folders = {str(folder): sorted(folder.iterdir()) if folder.is_dir() else None for folder in FOLDERS}
    return {
        **folders,
        "mounts": Path("/proc/self/mounts").read_text(),
        "tables": call([program("nft"), "list", "ruleset"]),
        "forwarding": Path("/proc/sys/net/ipv4/ip_forward").read_text(),
    }


def work(plane: ControlPlane) -> None:
    """Have a pod run, with an address and a mount."""
    script_pods.create(plane.api, "default", WORK)
    script_pods.wait_running(plane.api, "default", "work")


@pytest.fixture
def before(nodes: ControlPlane) -> dict[str, object]:
    """The machine before the test; the session's cluster runs all the time."""
    return machine()


def crash(plane: ControlPlane) -> None:
    """Kill the guardian: the kernel kills the rest."""
    assert plane.guardian.process is not None
    plane.guardian.process.kill()
    plane.guardian.process.wait()
    plane.api.hang_up()


def test_what_a_crash_leaves_is_removed_at_the_next_start(before: dict[str, object]) -> None:
    """Not even a container outlives the guardian; files and control groups wait for the next start."""
    plane = start(ONE)
    work(plane)
    traces = own(plane)
    container = Path(f"/proc/{plane.nodes[0].pods()[0].pid}")
    crash(plane)
    until(lambda: not (traces.processes() or traces.links() or container.exists()), "all to be killed")
    assert traces.groups()
    assert traces.directory.exists()
    state.clean()  # as each start does
    assert traces.all() == []
    assert machine() == before


def test_it_ends_with_its_owner(before: dict[str, object]) -> None:
    """A SIGKILL of the process that started it is enough."""
    script = """
from tests.devcluster import Options, start
plane = start(Options(nodes=1))
print(plane.directory, plane.rack.network.interface, flush=True)
input()
"""
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory, interface = owner.stdout.readline().split()
        traces = Own(Path(directory), interface)
        assert traces.groups()
        owner.kill()
        until(lambda: traces.all() == [], "the cluster of a killed owner to go")
    assert machine() == before


@dataclass(frozen=True, slots=True)
class Second:
    """A cluster beside the session's, on which a pod runs, and the machine before it began."""

    plane: ControlPlane
    before: dict[str, object]


@pytest.fixture(scope="module")
def second(nodes: ControlPlane) -> Iterator[Second]:
    """One for the three tests below; the last of them ends it."""
    before = machine()
    with cluster(ONE) as plane:
        work(plane)
        yield Second(plane, before)


def test_two_side_by_side_have_networks_of_their_own(nodes: ControlPlane, second: Second) -> None:
    """Pods of the same name have different addresses, and the other cluster's names are unknown."""
    other = second.plane
    assert other.rack is not None
    assert nodes.rack is not None
    assert other.rack.network.pods != nodes.rack.network.pods
    service = {"metadata": {"name": "mine"}, "spec": {"clusterIP": "None", "selector": {"pod": "work"}}}
    other.api.create("/api/v1/namespaces/default/services", service)
    known = "until getent hosts mine; do sleep 0.1; done"
    assert script_pods.run(other.api, "default", pod("asks", node_images.PLAIN, known)).code == 0
    name = f"asks-{secrets.token_hex(4)}"
    unknown = pod(name, node_images.PLAIN, "getent hosts mine")
    assert script_pods.run(nodes.api, "default", unknown).code == 2
    nodes.api.delete(f"/api/v1/namespaces/default/pods/{name}")


def test_nodes_are_added_while_it_runs(second: Second) -> None:
    assert [node.name for node in second.plane.add_nodes(2)] == ["node-1", "node-2"]
    late = pod("late", node_images.PLAIN, "exit 9", "node-2")
    assert script_pods.run(second.plane.api, "default", late).code == 9


def test_down_leaves_no_trace(second: Second) -> None:
    traces = own(second.plane)
    assert traces.processes()
    assert traces.groups()
    assert traces.links()
    second.plane.stop()
    until(lambda: not traces.links(), "the kernel to remove the interface")
    assert traces.all() == []
    assert machine() == second.before


def test_more_nodes_than_the_network_holds_are_refused(nodes: ControlPlane) -> None:
    with pytest.raises(HarnessError, match="51 nodes are asked for; the network has room for 50"):
        nodes.add_nodes(51)


def test_a_name_that_is_taken_is_reported(nodes: ControlPlane) -> None:
    taken = nodes.directory.name
    with pytest.raises(HarnessError, match=f"a test cluster runs already in .*{taken}"):
        start(ONE, name=taken)


def test_people_start_one_with_nodes_by_command(nodes: ControlPlane) -> None:
    name = f"by-command-{secrets.token_hex(4)}"
    argv = [sys.executable, "-m", "tests.devcluster", "--name", name]

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*argv, *words], cwd=ROOT, capture_output=True, text=True, check=False)

    try:
        started = command("up", "--nodes", "1")
        assert started.returncode == 0, started.stderr
        status = command("status")
        assert "  node-1                   Ready\n" in status.stdout
    finally:
        assert command("down").returncode == 0
    assert state.find(name) is None
