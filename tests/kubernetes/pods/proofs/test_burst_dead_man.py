"""Nobody comes back: brokers of a burst end by themselves, and what is left is swept by an id alone."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from burst.joining.workers import LABEL_OWNER
from burst.lifecycle.records import ResourcePhase
from burst.providers.provider import WantedBurst
from burst.sweep import ORPHAN_SECONDS
from tests import inside
from tests.devcluster import until
from tests.devcluster.fake_nodes import node_names
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS
from tests.kubernetes.pods.test_bursts import HOSTS, LABEL, provider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live
    from tests.kubernetes.task_ledger import TaskLedger

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("reached")]

FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 1}]},
}
BURSTING = {"dryRun": False, "expose": "nodePort", "fenceSeconds": 5, "lostAfterSeconds": 20}
SMALL = {"resources": {"limits": {"cpu": "1"}}}
LEAVE_AFTER = 120
"""Seconds without a lead after which a broker leaves for good."""
LIFE = 75.0
"""Seconds for a burst that ends in any case: its brokers join within ten, on an idle machine."""


@pytest.fixture
def served(
    live: Live,
    nodes: ControlPlane,
    remote: ControlPlane,
    remote_space: str,
    tasks: TaskLedger,
    tmp_path: Path,
) -> Iterator[Served]:
    """A MiniCluster of one broker, and a service that has two more in the other cluster."""
    container = {**SMALL, "volumes": {"ledger": tasks.volume}}
    live.create(container=container, size=1, flux=FLUX, bursting=BURSTING).joined(1)
    user = member(nodes, live.namespace, "edit")
    yield from burst_services.of(user, remote, remote_space, tmp_path, volumes={"ledger": tasks.volume})


def sweep(served: Served, folder: Path, installation: str, *more: str) -> list[dict[str, str]]:
    """Sweep with the credentials and an id alone, up to now; return what became of what."""
    words = ["burst", "sweep", "--installation", installation, "--open", "--output", "json", *more]
    words += ["--settings", str(served.folder / "burst.yaml"), "--state", str(folder)]
    done = inside.completed(words, {"PATH": "/usr/bin:/bin", "HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def swept(served: Served, folder: Path, installation: str) -> None:
    """Have it report what it would delete, then delete it."""
    dry = until(
        lambda: [
            each
            for each in sweep(served, folder, installation, "--dry-run")
            if each["action"] == "would be deleted"
        ],
        "what is left to be old enough",
        ORPHAN_SECONDS + SECONDS,
    )
    assert sweep(served, folder, "0" * 26) == []
    [done] = sweep(served, folder, installation)
    assert done == {**dry[0], "action": "deleted"}
    until(lambda: sweep(served, folder, installation) == [], "nothing to be left over", SECONDS)


def states(plane: ControlPlane, namespace: str) -> set[str]:
    """Return the phases of all pods."""
    return {each["status"].get("phase", "") for each in plane.api.items(pods(namespace))}


def pods(namespace: str) -> str:
    """Return where a namespace's pods are."""
    return f"/api/v1/namespaces/{namespace}/pods"


def test_brokers_without_their_lead_and_service_leave_and_the_rest_is_swept(
    served: Served,
    tasks: TaskLedger,
    nodes: ControlPlane,
    remote: ControlPlane,
    remote_space: str,
    tmp_path: Path,
) -> None:
    """The service is killed, and every node of the lead's cluster loses its power."""
    before = inventory.of(remote.api)
    served.start()
    served.submit("--burstable", "-N", 2, "-n", 2, "-t", "20m", script=tasks.script("job"))
    until(lambda: tasks.tasks("job") == 2, "the job's tasks to run", SECONDS)
    [owner] = {each["metadata"]["labels"][LABEL_OWNER] for each in remote.api.items(pods(remote_space))}
    served.end(signal.SIGKILL)
    killed = time.time()
    try:
        for node in nodes.nodes:
            node.kill()
        ended = {"Succeeded", "Failed"}
        until(lambda: states(remote, remote_space) <= ended, "the brokers to leave", SECONDS)
        took = time.time() - killed
        assert labelled(remote)
        [run] = tasks.runs("job")
        logs = remote.api.items(pods(remote_space))
        text = remote.api.send("GET", f"{pods(remote_space)}/{logs[0]['metadata']['name']}/log")[1].decode()
        assert f"no lead for {LEAVE_AFTER} s: this follower leaves for good" in text
        swept(served, tmp_path / "elsewhere", owner)
        assert inventory.of(remote.api) - before == set()
    finally:
        for node in nodes.nodes:
            node.start()
        names = {node.name for node in nodes.nodes}
        until(lambda: names <= node_names(nodes.api, ready=True), "the nodes to be Ready", SECONDS)
    print(f"tasks ended {run.last - killed:.1f} s after their lead, brokers after {took:.1f} s")


def test_brokers_without_a_service_end_at_their_time_though_their_lead_lives(
    live: Live,
    served: Served,
    tasks: TaskLedger,
    nodes: ControlPlane,
    remote: ControlPlane,
    remote_space: str,
    tmp_path: Path,
) -> None:
    """Their cluster ends them, and the lead goes on without them."""
    before = inventory.of(remote.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    burst = provider(live, nodes, remote, remote_space, volumes={"ledger": tasks.volume})
    end = time.time() + LIFE
    wanted = WantedBurst(LABEL, "here", 2, "small", False, end, "uid", "burst-0")
    [key] = burst.resources(wanted)
    burst.create(key, "token", wanted)

    def up() -> bool:
        return set(instance.ask(lambda it: it.nodes.resources()).up.hosts) >= HOSTS

    until(up, "the burst's nodes to be up", SECONDS)
    until(lambda: burst.get(key, wanted).phase is ResourcePhase.READY, "its pods to be ready", SECONDS)
    until(lambda: not remote.api.items(pods(remote_space)), "the burst's pods to end", SECONDS)
    assert time.time() >= end - 2  # seconds are whole there, and here
    job = remote.api.get(f"/apis/batch/v1/namespaces/{remote_space}/jobs/{key.name}")
    assert "DeadlineExceeded" in {each.get("reason") for each in job["status"]["conditions"]}
    until(lambda: not up(), "the burst's nodes to be down", SECONDS)
    here = served.submit("-n", 1, script="true")
    assert burst_services.job(instance, here).returncode == 0
    swept(served, tmp_path / "elsewhere", "here")
    assert inventory.of(remote.api) - before == set()
