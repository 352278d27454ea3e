"""A MiniCluster on real nodes that release 0.1.0 made: its operator, its lead, and then this operator."""

import io
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster import ControlPlane, node_images, python_tree, until
from tests.kubernetes import operators
from tests.kubernetes.archived import Archived
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
REVISION = "5026d38"
PACKAGES = ("broker_config", "metrics_api", "minicluster", "queue_policies")
IN_IMAGE = f"/{node_images.PREFIX}/lib/{python_tree.VERSION}/{python_tree.SITE}"


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of release 0.1.0, from the repository's history, readable for users of pods."""
    command = ("git", "archive", REVISION, *PACKAGES)
    done = subprocess.run(command, cwd=python_tree.PROJECT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"revision {REVISION} is not in this checkout's history: {done.stderr.decode().strip()}")
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    for each in (folder, *folder.parents):
        if each.owner() == folder.owner() and each.is_relative_to(tmp_path_factory.getbasetemp().parent):
            each.chmod(0o755)
    return folder


def mounted(release: Path, engine: str) -> dict[str, Any]:
    """Return the volumes by which the embedded instance of an image is 0.1.0's; real Flux has the zips."""
    if engine == node_images.REAL:
        return {}
    return {
        name.replace("_", "-"): {"hostPath": str(release / name), "path": f"{IN_IMAGE}/{name}"}
        for name in PACKAGES
    }


def replaced(saved: Archived, former: str) -> bool:
    """Look whether the operator has changed the ConfigMap's files, and the lead's pod has them."""
    live = saved.live
    config = live.api.get(f"/api/v1/namespaces/{live.namespace}/configmaps/{live.name}-config")
    for pod in live.pods.by_rank().values():  # a change of a pod has its kubelet look at its volumes now
        path = f"/api/v1/namespaces/{live.namespace}/pods/{pod['metadata']['name']}"
        live.api.merge(path, {"metadata": {"annotations": {"files": config["metadata"]["resourceVersion"]}}})
    return saved.shell("cat /etc/minicluster/start.sh") == config["data"]["start.sh"] != former


def uids(live: Live) -> dict[int, tuple[str, int]]:
    """Return the uid of each broker's pod, and how often its container was started again."""
    return {
        rank: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
        for rank, pod in live.pods.by_rank().items()
    }


def test_it_drains_saves_and_goes_on_under_this_operator(
    nodes: ControlPlane, space: str, engine: str, release: Path, tmp_path: Path
) -> None:
    """Under the files that this operator writes; and again under the old one, as after a rollback."""
    live = Live(nodes.api, space, image=engine)
    saved = Archived(live, nodes, tmp_path)
    account = operators.account(nodes)
    old = {"PYTHONPATH": str(release), "PYTHONSAFEPATH": "1"}  # safe: the working directory is not the first
    with operators.running(account, tmp_path / "before", **old) as operator:
        assert '"minicluster.kubernetes.' in operator.text(), "a room that 0.1.0 had"
        saved.create(3, volumes=mounted(release, engine), drainTimeoutSeconds=120)
        leaving = saved.ledger.begin(2)
        others = {job: saved.ledger.hold(job) for job in saved.ledger.ids if job != leaving}
        before = uids(live)
        former = saved.shell("cat /etc/minicluster/start.sh")
    with operators.running(account, tmp_path / "now") as operator:
        until(lambda: replaced(saved, former), "the files of this operator in the lead's pod", SECONDS)
        assert uids(live) == before
        live.change(size=2)
        live.until(Resizing=("True", "Draining"))
        assert uids(live) == before
        # Not before it is drained: one that is held for long could start there.
        until(lambda: "2" in saved.shell("flux resource drain -no '{ranks}'").split(), "rank 2 to be drained")
        saved.release()  # all the others are held
        until(lambda: len(live.pods.by_rank()) == 2, "the pod of rank 2 to go", SECONDS)
        assert saved.ledger.written().total() == 1
        running = saved.ledger.running()
        assert running.keys() == {0, 1}
        live.change(suspend=True)
        until(lambda: "waiting for 2 jobs" in live.message("Suspended"), "jobs to be waited for", SECONDS)
        assert uids(live).items() <= before.items()
        for job in running.values():
            others[job].unlink()
        status = live.until(Suspended=("True", "Suspended"))
        assert status["lastDump"]["jobs"] == len(others) - 2
        for job in others.keys() - set(running.values()):
            others[job].unlink()
        saved.resume(2)
        saved.completed()
        assert "defect" not in operator.text()
    with operators.running(account, tmp_path / "after", **old) as operator:
        live.change(size=3)
        live.joined(3)
        assert "defect" not in operator.text()
