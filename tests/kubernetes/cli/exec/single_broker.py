"""A MiniCluster of one broker on real nodes, and users with some rights there."""

from typing import Any

from tests.devcluster import Api, ControlPlane, until
from tests.kubernetes.command_line import MINICLUSTERS, RBAC, CommandLine

READ = [
    {"apiGroups": ["flux-framework.org"], "resources": ["miniclusters"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
]
WORK = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]}
SECONDS = 240.0


def document(name: str, image: str, command: str = "", **spec: Any) -> dict[str, Any]:
    """Return a MiniCluster of one broker; without a command it stays up."""
    container = {
        "image": image,
        "command": command,
        "workingDir": "/usr/share",
        "environment": {"GREETING": "of the document"},
    }
    return {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name},
        "spec": {
            "size": 1,
            "interactive": not command,
            "flux": {"container": {"disable": True}},
            "containers": [container],
            **spec,
        },
    }


def make(api: Api, namespace: str, item: dict[str, Any]) -> None:
    """Create a MiniCluster, once the namespace is ready for its pods."""
    until(lambda: api.exists(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"), "a service account")
    api.create(MINICLUSTERS.format(namespace), item)


def phase(api: Api, namespace: str, name: str) -> str:
    found = api.get(f"{MINICLUSTERS.format(namespace)}/{name}")
    return str((found.get("status") or {}).get("phase", ""))


def user(plane: ControlPlane, namespace: str, name: str, rules: list[dict[str, Any]]) -> CommandLine:
    """Return the command line of a user who has just these rights."""
    path = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    plane.api.create(f"{path}/roles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": f"{name}-{namespace}"}],
    }
    plane.api.create(f"{path}/rolebindings", binding)
    return CommandLine(plane.user(f"{name}-{namespace}").kubeconfig, namespace)
