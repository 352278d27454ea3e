"""The service account of a pod, by which its programs reach the API server."""

from __future__ import annotations

import os
from pathlib import Path

from minicluster.kube_client import proxies
from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.errors import AccessError

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_AUTHORITY = "ca.crt"
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


def is_given() -> bool:
    """Whether this process runs in a pod."""
    return _HOST in os.environ


def credentials() -> ApiCredentials:
    """Return address and credentials; the kubelet renews the token's file. Raises AccessError."""
    host, port = os.environ.get(_HOST), os.environ.get(_PORT)
    if not host or not port:
        raise AccessError(f"no way to a Kubernetes cluster: in a pod, ${_HOST} and ${_PORT} must be set")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    try:
        token = _content("token").strip()
        _content(_AUTHORITY)
    except (OSError, ValueError) as error:
        raise AccessError(
            f"no way to a Kubernetes cluster: this pod's service account cannot be read (is"
            f" automountServiceAccountToken false?): {error}"
        ) from error
    return ApiCredentials(
        server=server,
        ca_path=str(FOLDER / _AUTHORITY),
        scheme="Bearer",
        token=token,
        default_namespace=namespace(),
        proxy_url=proxies.usable(server, proxies.of_environment(server)),
    )


def namespace() -> str:
    """Return the pod's own namespace."""
    try:
        return (FOLDER / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        return "default"


def _content(name: str) -> str:
    """Return what is in a file. Raises OSError, and ValueError where it is empty or no text."""
    found = (FOLDER / name).read_text(encoding="utf-8")
    if not found.strip():
        raise ValueError(f"{FOLDER / name} is empty")
    return found
