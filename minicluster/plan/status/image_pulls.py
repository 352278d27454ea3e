"""What to do where a pod's image cannot be pulled, by the words of kubelets and of containerd."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from minicluster.plan.objects import pod_template

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import PodReport

_PULLS = frozenset({"ErrImagePull", "ImagePullBackOff"})
_BY_REASON = {
    "InvalidImageName": "correct the image's name in a new MiniCluster",
    "ErrImageNeverPull": (
        "load the image into the nodes, or set imagePullPolicy: IfNotPresent in a new MiniCluster"
    ),
}
_REFUSED = re.compile(
    r"401 Unauthorized|403 Forbidden|pull access denied|authorization failed|no basic auth credentials"
    r"|insufficient_scope|\b(?:unauthorized|denied):",
    re.IGNORECASE,
)
_ABSENT = re.compile(r": not found\b|manifest unknown|404 Not Found", re.IGNORECASE)
_UNREACHED = re.compile(
    r"dial tcp|no such host|i/o timeout|deadline exceeded|x509|tls: |HTTP response to HTTPS client"
)
_IMAGE = re.compile(r'image "([^"]+)"')
# What kubectl and kubelets call Docker Hub's registry in Secrets.
_DOCKER_HUB = "https://index.docker.io/v1/"


def advice(cluster: MiniCluster, pod: PodReport) -> str:
    """Return what to do about the image for which a pod waits, as the end of a message; empty: not known."""
    found = _advice(cluster, pod.reason, pod.message)
    return f"; what to do: {found}" if found else ""


def _advice(cluster: MiniCluster, reason: str, message: str) -> str:
    if reason not in _PULLS:
        return _BY_REASON.get(reason, "")
    if _REFUSED.search(message):
        return _login(cluster, _registry(message))
    if _ABSENT.search(message):
        return "push the image, or make the MiniCluster anew with a name and tag that its registry has"
    if _UNREACHED.search(message):
        return (
            f"see that nodes reach the registry {_registry(message)}, by a name that they can look up and"
            " with a certificate that they trust; it is tried again"
        )
    return ""


def _login(cluster: MiniCluster, registry: str) -> str:
    """Return what to do where a registry refuses the logins of a document's Secrets, or wants one."""
    secrets = [each["name"] for each in pod_template.pull_secrets(cluster)]
    command = (
        f"kubectl create secret docker-registry {secrets[0] if secrets else 'NAME'}"
        f" -n {cluster.metadata.namespace} --docker-server={registry}"
        " --docker-username=USER --docker-password=PASSWORD"
    )
    if not secrets:
        return (
            f"if the image's name is right, its registry wants a login: `{command}`, and a new MiniCluster"
            " with that name in spec.pod.imagePullSecrets"
        )
    logins = f"Secret {secrets[0]} holds" if len(secrets) == 1 else f"Secrets {', '.join(secrets)} hold"
    return (
        f"the registry refuses the login that {logins}, or there is none for it: delete"
        f" the Secret, then `{command}`; it is tried again"
    )


def _registry(message: str) -> str:
    """Return the registry of the image that a message names, as a Secret's --docker-server has it."""
    image = _IMAGE.search(message)
    host, slash, _ = (image[1] if image else "").partition("/")
    if not image:
        return "REGISTRY"
    # As container runtimes read it: Docker Hub's repositories have small letters alone.
    named = slash and ("." in host or ":" in host or host == "localhost" or host != host.lower())
    return host if named and host != "docker.io" else _DOCKER_HUB
