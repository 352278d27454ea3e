"""The burst service's chart on a cluster with nodes, with what it needs: a volume, and a kubeconfig."""

import base64
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.deploy.files import BURST_CHART
from tests.devcluster import ControlPlane, until
from tests.devcluster.release import NAMESPACE, Release

NAME = "minicluster-burst"
SELECTOR = f"app.kubernetes.io/name={NAME}"
TUNNELS = "app.kubernetes.io/name=minicluster-burst-tunnel"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/far-kubeconfig"
CLAIM = f"{NAME}-database"
KUBECONFIG = "/etc/minicluster-burst/kubeconfigs/far/kubeconfig"
"""Where the service finds the kubeconfig of the other cluster."""
SECONDS = 300.0  # it takes 10 s; a machine that does other things as well takes longer


@dataclass(frozen=True, slots=True)
class BurstRelease:
    """The release, and the cluster that it is in."""

    nodes: ControlPlane
    helm: Release
    folder: Path

    def install(self, settings: dict[str, Any], *servers: ControlPlane, **further: Any) -> None:
        """Install it with settings and further values; it reaches these clusters' API servers too.

        Waits for its pod.
        """
        ports = sorted({urlsplit(each.url).port for each in (self.nodes, *servers)}, key=str)
        values = {
            "settings": settings,
            "kubeconfigs": [{"name": "far", "secret": "far-kubeconfig"}],
            "networkPolicy": {"apiServerPorts": ports},
            "log": {"level": "debug"},
            **further,
        }
        path = self.folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        self.helm.install("--values", str(path))
        try:
            until(self.helm.ready, "the pod of the release", SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.picture()}") from error

    def pods(self) -> list[dict[str, Any]]:
        """Return those of its pods that stay."""
        found = self.nodes.api.items(PODS, labelSelector=SELECTOR)
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def kill(self) -> str:
        """Have its pod deleted without a warning; return the pod's name."""
        [name] = [each["metadata"]["name"] for each in self.pods()]
        self.nodes.api.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
        return str(name)

    def log(self) -> str:
        """Return what its pods have written."""
        names = [each["metadata"]["name"] for each in self.nodes.api.items(PODS, labelSelector=SELECTOR)]
        return "\n".join(self.nodes.api.send("GET", f"{PODS}/{each}/log")[1].decode() for each in names)

    def picture(self) -> str:
        """Describe its pods for the message of a test that fails."""
        states = [str(each["status"]) for each in self.nodes.api.items(PODS, labelSelector=SELECTOR)]
        return "\n".join([*states, self.log()])


def volume(folder: Path) -> dict[str, Any]:
    """Return a volume for its claim, in a folder of this machine."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(folder)},
        "claimRef": {"namespace": NAMESPACE, "name": CLAIM},
    }
    return {"metadata": {"name": CLAIM}, "spec": spec}


@contextlib.contextmanager
def prepared(nodes: ControlPlane, far: ControlPlane, folder: Path) -> Iterator[BurstRelease]:
    """Give a release that is still to be installed; in the end nothing of it is left."""
    disk, volumes = folder / "volume", "/api/v1/persistentvolumes"
    disk.mkdir()
    disk.chmod(0o777)
    content = base64.b64encode(far.kubeconfig.read_bytes()).decode()
    item = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "far-kubeconfig"}}
    nodes.api.apply(SECRET, {**item, "data": {"kubeconfig": content}})
    nodes.api.create(volumes, volume(disk))
    found = BurstRelease(nodes, Release(nodes.api, nodes.kubeconfig, folder, BURST_CHART, NAME), folder)
    try:
        yield found
    finally:
        found.helm.run("uninstall", "--ignore-not-found")
        nodes.api.call("DELETE", f"{PODS}?labelSelector={SELECTOR}&gracePeriodSeconds=0")
        nodes.api.call("DELETE", f"{JOBS}?labelSelector={TUNNELS}&propagationPolicy=Background")
        until(lambda: not nodes.api.items(PODS, labelSelector=TUNNELS), "tunnels to go", SECONDS)
        until(lambda: not nodes.api.items(PODS, labelSelector=SELECTOR), "its pods to go", SECONDS)
        claim = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{CLAIM}"
        for path in (claim, f"{volumes}/{CLAIM}"):  # the next release has ones of the same names
            nodes.api.delete(path)
            until(lambda path=path: not nodes.api.exists(path), f"{path} to go", SECONDS)
        nodes.api.delete(SECRET)
