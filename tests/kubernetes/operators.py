"""Operators as processes, with the shipped rights, and what tests do to MiniClusters."""

import contextlib
import copy
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from minicluster.lead_client import key_store
from minicluster.lead_client.keys import LeadAuthority
from tests.devcluster import Api, ApiError, ControlPlane, until
from tests.forked import Forked
from tests.manifests import documents

MANIFESTS = Path(__file__).parents[2] / "deploy" / "manifests"
SYSTEM = "minicluster-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/minicluster-operator"
LED = ("--all-namespaces", "--lease", f"{SYSTEM}/minicluster-operator")  # options of one of several operators
ACCOUNT = f"system:serviceaccount:{SYSTEM}:minicluster-operator"
# Where the objects of the manifests that grant rights are kept.
RIGHTS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
}
SECONDS = 300.0  # what takes one on a quiet machine takes long where an operator is started again and again
OWNED = (
    "/apis/batch/v1/namespaces/{}/jobs",
    "/api/v1/namespaces/{}/pods",
    "/api/v1/namespaces/{}/secrets",
    "/api/v1/namespaces/{}/configmaps",
    "/api/v1/namespaces/{}/services",
    "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
)
DOCUMENT = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "spec": {
        "size": 2,
        "maxSize": 4,
        # These leads have no lead server: it is unknown whether jobs run there.
        "drainTimeoutSeconds": 1,
        "containers": [{"image": "example.org/app:1", "command": "hostname"}],
        "pod": {"securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "fsGroup": 1000}},
    },
}


def rights(manifest: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the objects of a shipped manifest, and of crd.yaml, that grant rights, each with its path."""
    for item in documents("\n---\n".join((MANIFESTS / name).read_text() for name in ("crd.yaml", manifest))):
        if item and item["kind"] in RIGHTS:
            collection = RIGHTS[item["kind"]].format(namespace=item["metadata"].get("namespace", ""))
            yield f"{collection}/{item['metadata']['name']}", item


def grant(api: Api, manifest: str = "install.yaml") -> None:
    """Give the operator's account the rights of a shipped manifest."""
    for resource_path, item in rights(manifest):
        api.apply(resource_path, item)


def grant_nodes(api: Api) -> None:
    """Give the operator's account what the chart adds with a granularity: templates/node-rbac.yaml."""
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
    group, name = "rbac.authorization.k8s.io", f"{ACCOUNT.rpartition(':')[2]}-nodes-{SYSTEM}"
    about = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": group, "kind": "User", "name": ACCOUNT}]
    api.apply(f"{RIGHTS['ClusterRole']}/{name}", {**about, "kind": "ClusterRole", "rules": [rule]})
    binding = {**about, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects}
    api.apply(f"{RIGHTS['ClusterRoleBinding']}/{name}", binding)


def revoke(api: Api, manifest: str = "install.yaml") -> None:
    """Take those rights away; the namespace and the accounts stay."""
    for resource_path, item in rights(manifest):
        if item["kind"] not in {"Namespace", "ServiceAccount"} and api.exists(resource_path):
            api.delete(resource_path)


@dataclass
class Operator:
    """A running operator."""

    process: Forked
    log: Path
    port: int = field(default=0, init=False)

    def get(self, path: str) -> tuple[int, str]:
        """Ask its web server."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, series: str) -> float:
        """Return the value of a metric's series, 0 where there is none."""
        lines = self.get("/metrics")[1].splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(series + " ")), 0.0)

    @property
    def keys(self) -> LeadAuthority:
        """Its own keys, for the lead servers."""
        return key_store.of_file(self.log.parent / "minicluster" / key_store.FILE)

    def text(self) -> str:
        """Return what it has logged."""
        return self.log.read_text()

    def leads(self) -> bool:
        """Look whether it leads."""
        return self.metric("minicluster_leader") == 1

    def ready(self) -> "Operator":
        """Wait until it reports that it is ready."""
        until(self.is_ready, f"the operator to become ready; its log:\n{self.text()}", SECONDS)
        return self

    def is_ready(self) -> bool:
        """Look whether it is ready; raise with its log if it has ended."""
        if self.process.poll() is not None:
            raise AssertionError(f"the operator has ended with {self.process.returncode}:\n{self.text()}")
        marker = "/metrics are served on 127.0.0.1:"
        if not self.port:
            found = self.text().partition(marker)[2].split('"')[0].split()
            self.port = int(found[0]) if found else 0
        return bool(self.port) and self.get("/readyz")[0] == 200

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it in good order; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def start(kubeconfig: Path, log: Path, *options: str, **environment: str) -> Operator:
    """Start an operator; without options for all namespaces, and without an election."""
    words = ["operator", "--listen", "127.0.0.1:0", "--log-format", "json"]
    words += options or ("--all-namespaces", "--no-leader-election")
    # Its own keys, which the next one finds there as well.
    env = {**os.environ, "KUBECONFIG": str(kubeconfig), "XDG_STATE_HOME": str(log.parent), **environment}
    env.pop("KUBERNETES_SERVICE_HOST", None)
    log.touch()
    return Operator(Forked(words, env, Path(os.devnull), log, log), log)


@contextlib.contextmanager
def running(kubeconfig: Path, log: Path, *options: str, **environment: str) -> Iterator[Operator]:
    """Have an operator for as long as the block takes."""
    operator = start(kubeconfig, log, *options, **environment)
    try:
        yield operator.ready()
    finally:
        operator.kill()


def account(plane: ControlPlane) -> Path:
    """Return a kubeconfig of the operator's account, with the rights that are shipped."""
    grant(plane.api)
    return plane.user(ACCOUNT, ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}"]).kubeconfig


@contextlib.contextmanager
def everywhere(plane: ControlPlane | None, folder: Path, nodes: int = 0) -> Iterator[Operator]:
    """Have an operator for all namespaces, with the shipped rights, in which no defect may show."""
    if plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    if nodes:
        plane.add_fake_nodes(nodes)
    with running(account(plane), folder / "log") as found:
        yield found
    assert "defect" not in found.text()


def path(namespace: str, name: str = "", sub: str = "") -> str:
    """Return where a MiniCluster is."""
    collection = f"/apis/flux-framework.org/v1alpha2/namespaces/{namespace}/miniclusters"
    return "/".join([collection, *(part for part in (name, sub) if part)])


def create(api: Api, namespace: str, name: str = "mc", **spec: Any) -> dict[str, Any]:
    """Create a MiniCluster of two brokers, with other fields of its spec where they are given."""
    document = copy.deepcopy(DOCUMENT)
    document["metadata"] = {"name": name}
    document["spec"] |= spec
    return api.create(path(namespace), document)


def read(api: Api, namespace: str, name: str = "mc") -> dict[str, Any]:
    """Read a MiniCluster."""
    return api.get(path(namespace, name))


def conditions(item: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the conditions in a status: type to status and reason."""
    found = item.get("status", {}).get("conditions") or []
    return {each["type"]: (each["status"], each["reason"]) for each in found}


def message(item: dict[str, Any], type_: str) -> str:
    """Return the message of a condition."""
    return next(each["message"] for each in item["status"]["conditions"] if each["type"] == type_)


def settled(
    api: Api, namespace: str, name: str = "mc", seconds: float = SECONDS, **wanted: tuple[str, str]
) -> dict[str, Any]:
    """Wait until conditions are as wanted (type to status and reason); return the MiniCluster."""
    last: dict[str, Any] = {}

    def poll() -> bool:
        last.update(read(api, namespace, name))
        found = conditions(last)
        return all(found.get(type_) == value for type_, value in wanted.items())

    try:
        until(poll, f"{wanted}", seconds)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {last.get('status')}") from error
    return last


def created(api: Api, namespace: str, name: str = "mc", seconds: float = SECONDS) -> dict[str, Any]:
    """Wait until everything that a MiniCluster needs is made."""
    return settled(api, namespace, name, seconds, ResourcesCreated=("True", "Created"))


def events(api: Api, namespace: str, name: str = "mc") -> list[tuple[str, str, str]]:
    """Return the Events about a MiniCluster: type, reason, note."""
    found = api.items(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    ours = [each for each in found if each["regarding"].get("kind") == "MiniCluster"]
    return [
        (each["type"], each["reason"], each["note"]) for each in ours if each["regarding"]["name"] == name
    ]


def owned(api: Api, namespace: str) -> list[str]:
    """Return what there is in a namespace of the kinds that MiniClusters own."""
    return [
        f"{collection.rpartition('/')[2]}/{each['metadata']['name']}"
        for collection in OWNED
        for each in api.items(collection.format(namespace))
        if each["metadata"]["name"] != "kube-root-ca.crt"
    ]


def refusal(action: Callable[[], object]) -> str:
    """Return the words with which the API server refuses something."""
    try:
        action()
    except ApiError as error:
        return str(error)
    raise AssertionError("it was not refused")
