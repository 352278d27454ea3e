"""The command line as tests call it, and an operator's part played by the test."""

import datetime
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests import forked, inside
from tests.devcluster import Api, ControlPlane, until

MINICLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/{}/miniclusters"
RBAC = "rbac.authorization.k8s.io"
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`minicluster`, with a kubeconfig and a namespace; `more` is for its environment."""

    kubeconfig: Path
    namespace: str = ""
    context: str = ""
    more: tuple[tuple[str, str], ...] = ()
    begun: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __call__(self, command: str, *arguments: object) -> Done:
        """Run a command `--on kubernetes` to its end, in this process."""
        return inside.completed(self.arguments(command, *arguments), self.environment())

    def process(self, command: str, *arguments: object, given: str = "") -> Done:
        """Run a command to its end as a process of its own, with this on its standard input."""
        return forked.completed(self.arguments(command, *arguments), self.environment(), given)

    def begin(self, command: str, *arguments: object) -> "subprocess.Popen[str]":
        """Start a command; `end` ends it, if nothing did before."""
        process = subprocess.Popen(
            self.words(command, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
        )
        self.begun.append(process)
        return process

    def end(self) -> None:
        """End what was begun."""
        for process in self.begun:
            process.kill()
            process.communicate()

    def words(self, command: str, *arguments: object) -> list[str]:
        """Return the whole command line."""
        return [sys.executable, "-m", "minicluster.cli", *self.arguments(command, *arguments)]

    def arguments(self, command: str, *arguments: object) -> list[str]:
        """Return what follows `minicluster`."""
        given = [
            f"--{name}={value}"
            for name, value in (("namespace", self.namespace), ("context", self.context))
            if value
        ]
        options = ["--on", "kubernetes", "--kubeconfig", str(self.kubeconfig), *given]
        return [command, *options, *map(str, arguments)]

    def environment(self) -> dict[str, str]:
        """Return an environment without anything that chooses a cluster."""
        kept = {
            name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "MINICLUSTER_ON"}
        }
        return {**kept, "COLUMNS": "200", "TERM": "dumb", **dict(self.more)}


def member(plane: ControlPlane, namespace: str, role: str) -> CommandLine:
    """Return the command line of somebody who has a role in one namespace, and nothing elsewhere."""
    name = f"{role}-{namespace}"
    plane.api.create(
        f"/apis/{RBAC}/v1/namespaces/{namespace}/rolebindings",
        {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": name}],
        },
    )
    program = CommandLine(plane.user(name).kubeconfig, namespace)
    until(lambda: program("list").returncode == 0, f"the rights of {name}", interval=0.1)
    return program


def document(name: str = "mc", **spec: Any) -> dict[str, Any]:
    """Return a small document."""
    containers = [{"image": "ubuntu:24.04", "command": "hostname"}]
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name},
        "spec": {"size": 2, "maxSize": 4, "containers": containers, **spec},
    }


def written(folder: Path, *documents: dict[str, Any]) -> Path:
    """Write documents to a file: their keys stand where `yaml` puts them, `spec` last."""
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
    return path


@dataclass(frozen=True, slots=True)
class Operator:
    """Writes the statuses that the operator of a namespace would write."""

    api: Api
    namespace: str

    def path(self, name: str = "mc") -> str:
        """Return where a MiniCluster is."""
        return f"{MINICLUSTERS.format(self.namespace)}/{name}"

    def exists(self, name: str = "mc") -> bool:
        """Return whether it is there."""
        return self.api.exists(self.path(name))

    def make(self, name: str = "mc", **spec: Any) -> dict[str, Any]:
        """Create a MiniCluster as another user would."""
        return self.api.create(MINICLUSTERS.format(self.namespace), document(name, **spec))

    def report_status(self, phase: str, condition: str, reason: str, message: str, **status: Any) -> None:
        """Write a status in which one condition holds; `name` and `generation` may be given."""
        name = status.pop("name", "mc")
        found = self.api.get(self.path(name))
        generation = status.pop("generation", found["metadata"]["generation"])
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        stated = {"type": condition, "status": "True", "reason": reason, "message": message}
        if phase == "Invalid" or reason in {"AtSize", "Creating"}:
            stated["status"] = "False"
        status |= {"phase": phase, "observedGeneration": generation}
        status["conditions"] = [{**stated, "observedGeneration": generation, "lastTransitionTime": now}]
        self.api.merge(f"{self.path(name)}/status", {"status": status})
