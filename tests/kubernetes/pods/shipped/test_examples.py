"""Every example that can run on nodes does as it stands, by the chart's operator; LAMMPS as four MPI ranks.

Whoever runs them may edit one namespace, and has no rights elsewhere. Those that need more than a document
have tests of their own: `autoscaling`, `scaling-from-within`, `queens` (test_malleable.py: no image has its
program) and `save-and-restore` (test_saving.py: an archive). `jacobi` needs numpy, which no image here has.
"""

import re
from pathlib import Path

import pytest
import yaml

from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes import reach
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live

EXAMPLES = Path(__file__).parents[4] / "examples"
# What the lead's log has when an example has run.
COMMENT = {
    "hello-world": [f"Hello from task {rank} of 4" for rank in range(4)],
    "batch": ["first", "second", "third, on one of 1 brokers"],
    "hooks": ["before the lead broker", "the command sees GREETING=hello", "after the broker"],
    "launcher": ["simulated, task 0", "simulated, task 1", "analysed"],
    "services": ["the service says good morning"],
    "lammps-lj": ["on 4 procs for 100 steps with 32000 atoms"],
}


def document(example: str, folder: Path, engine: str) -> tuple[Path, str]:
    """Return an example's file and its MiniCluster's name.

    It is the file itself, whose images and view have stand-ins on the nodes; for real Flux, which is no view
    but in an image, a copy with that one.
    """
    file = EXAMPLES / example / "minicluster.yaml"
    items = list(yaml.safe_load_all(file.read_text()))
    cluster = next(each for each in items if each["kind"] == "MiniCluster")
    if engine == node_images.REAL:
        for each in (*cluster["spec"]["containers"], *cluster["spec"].get("services", ())):
            each["image"] = engine
        cluster["spec"]["flux"] = {"container": {"disable": True}}
        file = folder / "minicluster.yaml"
        file.write_text(yaml.safe_dump_all(items))
    return file, cluster["metadata"]["name"]


def submitted(minicluster: CommandLine, *words: object) -> str:
    """Submit a job; return its id."""
    done = minicluster("submit", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def output(minicluster: CommandLine, name: str, job: str) -> list[str]:
    """Wait for a job that succeeds; return its lines, in the order of tasks."""
    done = minicluster("attach", name, job)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


@pytest.mark.parametrize("example", COMMENT)
def test_an_example_runs(minicluster: CommandLine, engine: str, tmp_path: Path, example: str) -> None:
    file, name = document(example, tmp_path, engine)
    done = minicluster("up", file, "--wait")
    log = minicluster("logs", name, "--rank", 0).stdout
    assert done.returncode == 0, done.stderr + log
    for line in COMMENT[example]:
        assert line in log


def test_lammps_runs_across_four_nodes(
    minicluster: CommandLine, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """One MPI rank a pod; the ranks' own TCP connections go from pod to pod."""
    file, name = document("lammps-reaxff", tmp_path, engine)
    live = Live(nodes.api, space, name)
    with reach.watching(nodes.nodes) as seen:
        done = minicluster("up", file, "--no-wait")
        assert done.returncode == 0, done.stderr
        # Now: when the lead has ended, the Job may delete pods that have not been seen to end.
        node_by_address = until(lambda: scheduled_nodes(live), "four pods with addresses", SECONDS)
        status = live.ended()
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


def test_the_interactive_example_takes_work(
    minicluster: CommandLine, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """Submitted from outside of the cluster and inside, attached to, listed, and taken down."""
    file, name = document("interactive", tmp_path, engine)
    assert minicluster("up", file).returncode == 0
    outside = submitted(minicluster, name, "-n", 2, "-N", 2, "--", "hostname")
    done = minicluster.process("shell", name, "--", "flux", "submit", "-n", "2", "-N", "2", "hostname")
    assert done.returncode == 0, done.stderr
    inside = done.stdout.strip()
    for job in (outside, inside):
        assert output(minicluster, name, job) == [f"{rank}: {name}-{rank}" for rank in range(2)]
        assert job[1:] in minicluster("jobs", name, "--all").stdout  # in a pod's locale Flux writes f for ƒ
    assert minicluster("down", name).returncode == 0
    until(lambda: not nodes.api.items(f"/api/v1/namespaces/{space}/pods"), "the pods to go", SECONDS)


def test_the_scaling_example_grows_and_shrinks(
    minicluster: CommandLine, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    """Each size is there when the command ends, and no job is lost."""
    file, name = document("scaling", tmp_path, engine)
    assert minicluster("up", file).returncode == 0
    jobs = [submitted(minicluster, name, "--", "sh", "-c", f"sleep 1; echo {number}") for number in range(3)]
    for size in (4, 1):
        done = minicluster("scale", name, size)
        assert done.returncode == 0, done.stderr
        assert Live(nodes.api, space, name).pods.by_rank().keys() == set(range(size))
    assert [output(minicluster, name, job) for job in jobs] == [["0"], ["1"], ["2"]]
