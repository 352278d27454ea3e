"""A chart as a release, by helm as people type it."""

import os
import subprocess
from pathlib import Path

from tests.devcluster import ControlPlane


class Release:
    """A chart, installed by helm into a namespace of its own, by the name of the chart."""

    def __init__(
        self,
        helm: Path,
        plane: ControlPlane,
        home: Path,
        namespace: str,
        name: str = "minicluster-operator",
    ) -> None:
        self.helm, self.plane, self.api, self.namespace = helm, plane, plane.api, namespace
        self.name = name
        folders = {f"HELM_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA")}
        self.environment = {**os.environ, **folders, "KUBECONFIG": str(plane.kubeconfig)}
        self.account = f"system:serviceaccount:{namespace}:{name}"

    def run(self, command: str, *options: str) -> None:
        """Run a command of helm's on the release."""
        completed = self.tried(command, *options)
        assert completed.returncode == 0, completed.stderr

    def tried(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command of helm's on the release, which may fail."""
        argv = [str(self.helm), command, self.name, *options, "--namespace", self.namespace]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False)

    def refusal(self, chart: Path, *options: str) -> str:
        """Try to install or upgrade, and return how helm refuses; nothing was changed."""
        done = self.tried("upgrade", str(chart), "--install", "--dry-run=server", *options)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def install(self, chart: Path, *options: str) -> None:
        """Install or upgrade."""
        self.run("upgrade", str(chart), "--install", "--create-namespace", *options)

    def may(self, user: str, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
        """Ask the API server for its decision; the resource is `group/kind/subresource`."""
        group, kind, *subresource = resource.split("/")
        asked = {"verb": verb, "group": group, "resource": kind, "namespace": namespace, "name": name}
        spec = {"user": user, "resourceAttributes": {**asked, "subresource": "".join(subresource)}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = self.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])
