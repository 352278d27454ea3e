"""How a MiniCluster on real nodes ends: true exit codes, and lost pods that are made up for."""

import os
import signal
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.harness import ControlPlane, until
from tests.kubernetes.live import DOCUMENT, SECONDS, Live
from tests.kubernetes.operators import Operator


@pytest.mark.parametrize("code", [3, 75, 137, 143])
def test_the_commands_exit_code_is_the_clusters(live: Live, code: int) -> None:
    """Also those that mean a lost pod: 75 is our own word for that, the others are kills."""
    status = live.create({"command": f"sh -c 'exit {code}'"}).ended()
    assert (status["phase"], status["exitCode"]) == ("Failed", code)
    assert live.message("Failed") == f"the main command ended with exit code {code}"


def test_followers_end_well_with_the_instance(live: Live) -> None:
    """Their pods have succeeded, whatever the command's own end was."""
    live.create({"command": "sh -c 'exit 3'"}).ended()
    assert live.pods()[1]["status"]["phase"] == "Succeeded"


def test_whoever_waits_gets_the_exit_code(
    nodes_operator: Operator, nodes: ControlPlane, space: str, tmp_path: Path
) -> None:
    document = tmp_path / "minicluster.yaml"
    spec = {**DOCUMENT, "metadata": {"name": "mc"}}
    spec["spec"] = {
        **DOCUMENT["spec"],
        "containers": [{**DOCUMENT["spec"]["containers"][0], "command": "sh -c 'echo said; exit 5'"}],
    }  # type: ignore[index]
    document.write_text(yaml.safe_dump(spec))
    minicluster = CommandLine(nodes.kubeconfig, space)
    done = minicluster("up", document, "--wait")
    assert done.returncode == 5, done.stderr
    assert "said" in minicluster("logs", "mc", "--rank", 0).stdout.splitlines()


def test_a_follower_whose_pod_is_deleted_comes_back(live: Live) -> None:
    """The instance goes on; the Job makes another pod, and its broker joins as the same rank."""
    live.create(interactive=True).joined(2)
    first = live.pods()[1]["metadata"]["uid"]
    live.drop_pod(1)
    live.until(BrokersReady=("False", "BrokersMissing"))
    assert live.joined(2)["phase"] == "Running"
    assert live.pods()[1]["metadata"]["uid"] != first


def test_a_follower_that_is_killed_comes_back(live: Live, nodes: ControlPlane) -> None:
    """Its container is gone without a word, as when memory runs out: 137."""
    live.create(interactive=True).joined(2)
    first = live.pods()[1]["metadata"]["uid"]
    for pid in live.processes(nodes, 1):
        os.kill(pid, signal.SIGKILL)
    until(
        lambda: (live.pods().get(1) or {"metadata": {"uid": first}})["metadata"]["uid"] != first,
        "another pod",
        SECONDS,
    )
    assert live.joined(2)["phase"] == "Running"


def test_a_lead_whose_pod_is_deleted_comes_back(live: Live) -> None:
    """Followers keep their pods, and wait for the lead; the instance is a new one."""
    live.create(interactive=True).joined(2)
    follower, lead = (live.pods()[rank]["metadata"]["uid"] for rank in (1, 0))
    live.drop_pod(0)
    until(
        lambda: (live.pods().get(0) or {"metadata": {"uid": lead}})["metadata"]["uid"] != lead,
        "another lead",
        SECONDS,
    )
    assert live.joined(2)["phase"] == "Running"
    assert live.pods()[1]["metadata"]["uid"] == follower
