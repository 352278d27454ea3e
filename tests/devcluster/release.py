"""The chart as a release in a test cluster, as docs/installation.md installs it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.devcluster import lookup
from tests.devcluster.api import Api
from tests.devcluster.errors import ComponentError
from tests.devcluster.waiting import until

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "minicluster-operator"
NAME = "minicluster-operator"
NAMESPACE = "minicluster-system"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SECONDS = 300.0  # to be ready: it takes 5 s; a machine that also builds something takes longer


@dataclass(frozen=True, slots=True)
class Release:
    """helm, for a cluster; the folder is where it keeps its own files, the name that of the release."""

    api: Api
    kubeconfig: Path
    folder: Path
    chart: Path = CHART
    name: str = NAME

    def install(self, *options: str) -> None:
        """Install the chart, or upgrade to it. The CRD that the cluster began with becomes the chart's."""
        about = {"metadata": {"name": NAMESPACE, "labels": RESTRICTED}}
        self.api.apply(f"/api/v1/namespaces/{NAMESPACE}", {"apiVersion": "v1", "kind": "Namespace", **about})
        self.run("upgrade", str(self.chart), "--install", "--take-ownership", *options)

    def uninstall(self) -> None:
        """Uninstall the release, if it is there; the CRD stays."""
        self.run("uninstall", "--wait", "--ignore-not-found")

    def run(self, command: str, *options: str) -> None:
        """Run a command of helm's on the release; raise ComponentError with its output."""
        homes = {f"HELM_{name}_HOME": str(self.folder / name) for name in ("CACHE", "CONFIG", "DATA")}
        environment = {**os.environ, **homes, "KUBECONFIG": str(self.kubeconfig)}
        argv = [
            str(lookup.locate(lookup.HELM)["helm"]),
            command,
            self.name,
            *options,
            "--namespace",
            NAMESPACE,
        ]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ComponentError(f"`helm {command}` failed: {done.stderr.strip()}")

    def ready(self) -> bool:
        """Return whether all pods of the release are ready, and those of a release before it are gone."""
        found = self.api.items(DEPLOYMENTS)
        return bool(found) and all(map(rolled_out, found))

    def wait_ready(self) -> None:
        """Wait until all pods of the release are ready."""
        until(self.ready, f"the pods of the release {self.name} to be ready", SECONDS)


def rolled_out(deployment: dict[str, Any]) -> bool:
    """Return whether a Deployment has all its pods ready, of its last template, and no others."""
    status, wanted = deployment["status"], deployment["spec"]["replicas"]
    if status.get("observedGeneration") != deployment["metadata"]["generation"]:
        return False
    return {status.get(f"{each}eplicas", 0) for each in ("r", "updatedR", "readyR")} == {wanted}
