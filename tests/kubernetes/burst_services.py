"""`minicluster burst serve --on kubernetes` as a process of a user's, and settings with one provider."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from broker_config.formats import jobid
from tests import inside
from tests.devcluster import until
from tests.kubernetes import inventory
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from minicluster.instance.records import Job
    from tests.devcluster import ControlPlane
    from tests.kubernetes.command_line import CommandLine
    from tests.kubernetes.kept_instance import KeptInstance

FLUX = {
    "container": {"disable": True},
    "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 2}]},
}
BURSTING = {
    "dryRun": False,
    "expose": "nodePort",
    "providers": ["research"],
    "idleSeconds": 3,
    "verifySeconds": 3,
    "drainTimeoutSeconds": 60,
}
SMALL = {"resources": {"limits": {"cpu": "1"}}}


@dataclass
class Served:
    """A user with the role edit in the namespace of a MiniCluster, and a service of that user's."""

    user: CommandLine
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def options(self) -> list[str]:
        """Return what follows each command."""
        words = ["--on", "kubernetes", "--kubeconfig", str(self.user.kubeconfig), "--context", "test"]
        words += ["--namespace", self.user.namespace]
        return [*words, "--settings", str(self.folder / "burst.yaml"), "--state", str(self.folder / "state")]

    def burst(self, command: str, *words: str) -> str:
        """Return what a command prints."""
        done = inside.completed(["burst", command, *words, *self.options()], self.user.environment())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def bursts(self) -> list[dict[str, Any]]:
        """Return all bursts that there ever were."""
        found: list[dict[str, Any]] = json.loads(self.burst("list", "--all", "--output", "json"))
        return found

    def start(self) -> None:
        """Start the service."""
        argv = [sys.executable, "-m", "minicluster.cli", "burst", "serve", *self.options()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stderr=log, env=self.user.environment())

    def end(self, signum: int) -> int:
        """End the service; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(60)

    def submit(self, *words: object, script: str = "hostname; sleep 2") -> int:
        """Submit a job; return its id."""
        done = self.user("submit", "mc", *words, "--", "sh", "-c", script)
        assert done.returncode == 0, done.stderr
        return jobid.parse(done.stdout.strip())

    def log(self) -> str:
        """Return what the service has written."""
        return (self.folder / "log").read_text()


def of(
    user: CommandLine,
    remote: ControlPlane,
    namespace: str,
    folder: Path,
    names: tuple[str, ...] = ("research",),
    **more: Any,
) -> Iterator[Served]:
    """Have settings whose providers are a namespace of a cluster; in the end no service runs."""
    settings = {
        "kubeconfig": str(remote.kubeconfig),
        "namespace": namespace,
        "offers": [{"machine": "small", "cores": 2, "requests": {"cpu": "500m"}}],
        **more,
    }
    providers = [{"name": name, "kind": "kubernetes", "settings": settings} for name in names]
    (folder / "burst.yaml").write_text(yaml.safe_dump({"providers": providers}))
    made = Served(user, folder)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGKILL)


def hosts(instance: KeptInstance, id_: int) -> list[str]:
    """Return what a job has printed: the name of a pod by each task."""
    chunks = instance.ask(lambda connected: list(connected.jobs.output(id_)))
    return b"".join(each.data for each in chunks).decode().split()


def job(instance: KeptInstance, id_: int) -> Job:
    """Wait until a job has ended, and return it."""

    def poll() -> Job | None:
        found = instance.ask(lambda connected: connected.jobs.get(id_))
        return found if found.t_inactive else None

    found = until(poll, f"the end of job {id_}", SECONDS)
    assert found is not None
    return found


def labelled(plane: ControlPlane) -> set[str]:
    """Return what there is of bursts in a cluster, of all kinds."""
    return {each for each in inventory.of(plane.api) if "mcb-" in each}


def exposed(plane: ControlPlane) -> set[str]:
    """Return the ways to leads, of all kinds."""
    return {each for each in inventory.of(plane.api) if "-bursts-" in each}
