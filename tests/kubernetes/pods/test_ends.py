"""How a MiniCluster on real nodes ends: with true exit codes."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.devcluster import ControlPlane, until
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import DOCUMENT, SECONDS, Live
from tests.kubernetes.operators import Operator


@pytest.mark.parametrize("code", [3, 75, 137, 143])
def test_the_commands_exit_code_is_the_clusters(live: Live, code: int) -> None:
    """Also those that mean a lost pod: 75 is our own word for that, the others are kills.

    The container tells such a one as 1, and in words as what it is.
    """
    status = live.create({"command": f"sh -c 'exit {code}'"}).ended()
    assert (status["phase"], status["exitCode"]) == ("Failed", code)
    ended = live.pods.by_rank()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["message"].strip()) == (code if code == 3 else 1, str(code))
    assert live.message("Failed") == f"the main command ended with exit code {code}"


def test_followers_end_with_the_instance(live: Live) -> None:
    """Their pods succeed, whatever the command's own end was. The Job counts them, and then deletes them.

    It tells them to go as soon as it knows of the lead's end: one that hears of that first counts as lost.
    """
    live.create({"command": "sh -c 'exit 3'"}).ended()

    def counted() -> dict[str, Any]:
        status = live.api.get(f"/apis/batch/v1/namespaces/{live.namespace}/jobs/{live.name}")["status"]
        ended = any(each["type"] == "Failed" for each in status.get("conditions", ()))
        return dict(status) if ended else {}

    status = until(counted, "the Job to fail", SECONDS)
    assert (status.get("succeeded", 0), status["failed"]) in {(1, 1), (0, 2)}


def test_whoever_waits_gets_the_exit_code(
    nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str, tmp_path: Path
) -> None:
    document = tmp_path / "minicluster.yaml"
    spec = {**DOCUMENT, "metadata": {"name": "mc"}}
    spec["spec"] = {
        **DOCUMENT["spec"],
        "containers": [{"image": engine, "command": "sh -c 'echo said; exit 5'"}],
    }  # type: ignore[index]
    document.write_text(yaml.safe_dump(spec))
    minicluster = CommandLine(nodes.kubeconfig, space)
    done = minicluster("up", document, "--wait")
    assert done.returncode == 5, done.stderr
    assert "said" in minicluster("logs", "mc", "--rank", 0).stdout.splitlines()


def test_a_pod_that_is_deleted_as_its_container_starts_goes(live: Live, tmp_path: Path) -> None:
    """SIGTERM waits until the start script hears it; before that the kernel drops it, as it is process 1.

    A program's start waits here for a writer of what it preloads. The grace period outlasts the test.
    """
    tmp_path.chmod(0o755)
    preloaded = tmp_path / "preloaded"
    os.mkfifo(preloaded)
    folder = {"hostPath": str(tmp_path), "path": "/folder"}
    container = {"volumes": {"folder": folder}, "environment": {"LD_PRELOAD": "/folder/preloaded"}}
    live.create(container, interactive=True, size=1, drainTimeoutSeconds=600)
    pod = live.pods.running(0)["metadata"]
    live.pods.delete(0)
    about = f"involvedObject.uid%3D{pod['uid']},reason%3DKilling"
    events = f"/api/v1/namespaces/{live.namespace}/events?fieldSelector={about}"
    until(lambda: live.api.get(events)["items"], "the end of its container to begin", SECONDS)
    time.sleep(1)  # without a hook SIGTERM is sent now
    writer = os.open(preloaded, os.O_WRONLY | os.O_NONBLOCK)
    preloaded.unlink()
    os.close(writer)
    live.pods.replaced(0, pod["uid"])
