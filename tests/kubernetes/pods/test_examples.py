"""Every example runs on real nodes as it is, but for its image; LAMMPS as MPI ranks in four pods."""

import contextlib
import re
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import ComponentError, ControlPlane, node_images, until
from tests.devcluster.nodes import Node
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import BROKER_PORT, SECONDS, Live
from tests.kubernetes.operators import Operator

EXAMPLES = Path(__file__).parents[3] / "examples"
# With these a pod tells that it was lost: of a program they are told as 1, and in words as what they are.
LOST = {75, 137, 143}
# What the lead's log has when an example has run.
COMMENT = {
    "hello-world": [f"Hello from task {rank} of 4" for rank in range(4)],
    "batch": ["first", "second", "third, on one of 1 brokers"],
    "hooks": ["before the lead broker", "the command sees GREETING=hello", "after the broker"],
    "launcher": ["simulated, task 0", "simulated, task 1", "analysed"],
    "services": ["the service says"],
}


def written(example: str, folder: Path, image: str, **container: Any) -> tuple[Path, str]:
    """Write an example's documents with an image that the nodes have; return the file and the name."""
    documents = list(yaml.safe_load_all((EXAMPLES / example / "minicluster.yaml").read_text()))
    cluster = next(each for each in documents if each["kind"] == "MiniCluster")
    for each in (*cluster["spec"]["containers"], *cluster["spec"].get("services", ())):
        each["image"] = image
    cluster["spec"]["containers"][0] |= container
    cluster["spec"]["flux"] = {"container": {"disable": True}}
    file = folder / "minicluster.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return file, cluster["metadata"]["name"]


@pytest.mark.parametrize("example", COMMENT)
def test_an_example_runs(
    nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str, tmp_path: Path, example: str
) -> None:
    file, name = written(example, tmp_path, engine)
    minicluster = CommandLine(nodes.kubeconfig, space)
    done = minicluster("up", file, "--wait")
    log = minicluster("logs", name, "--rank", 0).stdout
    assert done.returncode == 0, done.stderr + log
    for line in COMMENT[example]:
        assert line in log


def lammps(nodes: ControlPlane, space: str, folder: Path, engine: str, **container: Any) -> Live:
    """Begin the ReaxFF example: four MPI ranks."""
    image = node_images.LAMMPS if engine == node_images.EMBEDDED else engine
    file, name = written("lammps-reaxff", folder, image, **container)
    done = CommandLine(nodes.kubeconfig, space)("up", file, "--no-wait")
    assert done.returncode == 0, done.stderr
    return Live(nodes.api, space, name)


def test_lammps_runs_across_four_nodes(
    nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """One MPI rank a pod; the ranks' own TCP connections go from pod to pod."""
    seen: set[tuple[str, str]] = set()
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(nodes.nodes, seen, stop))
    watcher.start()
    try:
        live = lammps(nodes, space, tmp_path, engine)
        # Now: when the lead has ended, the Job may delete pods that have not been seen to end.
        node_by_address = until(lambda: scheduled_nodes(live), "four pods with addresses", SECONDS)
        status = live.ended()
    finally:
        stop.set()
        watcher.join()
    log = live.pods.log(0)
    assert status["exitCode"] == 0, live.pods.logs()
    assert re.search(r"on 4 procs for 30 steps with \d+ atoms", log), log
    assert len(set(node_by_address.values())) == 4
    assert all("hostPath" not in volume for volume in live.pods.by_rank()[0]["spec"]["volumes"])
    between = {pair for pair in seen if set(pair) <= node_by_address.keys() and pair[0] != pair[1]}
    assert {address for pair in between for address in pair} == node_by_address.keys()


def scheduled_nodes(live: Live) -> dict[str, str]:
    """Return the node of each pod by the pod's address, once all four have one."""
    found = {pod["status"].get("podIP"): pod["spec"].get("nodeName") for pod in live.pods.by_rank().values()}
    return found if len(found) == 4 and None not in found else {}


def watch(nodes: list[Node], seen: set[tuple[str, str]], stop: threading.Event) -> None:
    """Note which addresses have TCP connections that are not the brokers' own."""
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


def test_lammps_that_fails_ends_with_its_code_everywhere(
    nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """The container's, the Job's, the status's; and that of whoever waits."""
    live = lammps(nodes, space, tmp_path, engine, command="lmp -log none -in absent.in")
    status = live.ended()
    code = status["exitCode"]
    assert code != 0
    ended = live.pods.by_rank()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["message"].strip() == str(code)
    assert ended["exitCode"] == (1 if code in LOST else code)
    until(lambda: ("Failed", "True") in conditions(nodes, space, live.name), "the Job to fail", SECONDS)
    waited = CommandLine(nodes.kubeconfig, space)("up", tmp_path / "minicluster.yaml", "--wait")
    assert waited.returncode == code, waited.stderr


def conditions(nodes: ControlPlane, space: str, name: str) -> set[tuple[str, str]]:
    """Return a Job's conditions; the last ones come when all its pods have ended."""
    job = nodes.api.get(f"/apis/batch/v1/namespaces/{space}/jobs/{name}")
    return {(each["type"], each["status"]) for each in job["status"].get("conditions", ())}


def test_the_interactive_example_takes_work(
    nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """Submitted from outside of the cluster, attached to, listed, and taken down."""
    file, name = written("interactive", tmp_path, engine)
    minicluster = CommandLine(nodes.kubeconfig, space)
    assert minicluster("up", file, "--wait").returncode == 0
    live = Live(nodes.api, space, name)
    submitted = minicluster("submit", name, "-n", 2, "-N", 2, "--", "hostname")
    assert submitted.returncode == 0, f"{submitted.stderr}\n{live.status}\n{live.pods.logs()}"
    job = submitted.stdout.strip()
    attached = minicluster("attach", name, job)
    assert (attached.returncode, sorted(attached.stdout.split())) == (
        0,
        ["0:", "1:", f"{name}-0", f"{name}-1"],
    )
    assert job in minicluster("jobs", name, "--all").stdout
    assert minicluster("down", name).returncode == 0
    until(lambda: not nodes.api.items(f"/api/v1/namespaces/{space}/pods"), "the pods to go", SECONDS)
