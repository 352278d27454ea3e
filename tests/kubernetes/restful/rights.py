"""The rights of the service, and no others: accounts of an API server that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.devcluster import ControlPlane

RBAC = "/apis/rbac.authorization.k8s.io/v1"
FOLLOW = {"apiGroups": ["flux-framework.org"], "resources": ["miniclusters"], "verbs": ["list", "watch"]}
KEYS = {
    "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["minicluster-jobs"], "verbs": ["get"],
}  # fmt: skip


def account(plane: ControlPlane, user: str, system: str, namespaces: tuple[str, ...] = ()) -> Path:
    """Return a kubeconfig of a user with the rights for namespaces (none: all), and for keys in `system`."""
    grant(plane, user, system, "rest-keys", KEYS)
    for namespace in namespaces or ("",):
        grant(plane, user, namespace, "rest-follow", FOLLOW)
    return plane.user(user).kubeconfig


def grant(plane: ControlPlane, user: str, namespace: str, name: str, *rules: dict[str, Any]) -> None:
    """Give a user rights in a namespace, or everywhere where that is empty."""
    kind = "Role" if namespace else "ClusterRole"
    root = f"{RBAC}/namespaces/{namespace}/roles" if namespace else f"{RBAC}/clusterroles"
    bound = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
    own = f"{name}-{user}"
    metadata, group = {"name": own}, {"apiGroup": "rbac.authorization.k8s.io"}
    versioned = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
    plane.api.apply(f"{root}/{own}", {**versioned, "kind": kind, "rules": list(rules)})
    subjects = [{"kind": "User", "name": user, **group}]
    reference = {"kind": kind, "name": own, **group}
    binding = {**versioned, "kind": f"{kind}Binding", "subjects": subjects, "roleRef": reference}
    plane.api.apply(f"{bound}/{own}", binding)
