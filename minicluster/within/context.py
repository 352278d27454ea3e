"""Where a program runs: in a pod of a MiniCluster, in a cluster on this machine, or in neither."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.within.errors import NotInsideError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "MINICLUSTER_NAME"
"""The MiniCluster's name: from the start script, so that jobs have it as well."""
CONTROL = "MINICLUSTER_CONTROL"
"""On the user's own machine: the socket of the cluster's supervisor."""
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod has the token of its service account."""


class PodContext(NamedTuple):
    """A pod of MiniCluster `name`, and the API server as it sees it."""

    name: str
    namespace: str
    host: str
    """The API server's address, from the environment of every pod."""
    port: int
    account: Path
    """The directory with the token, the certificate and the namespace of its service account."""

    @property
    def token(self) -> str:
        """The token, read anew each time: the kubelet renews it in its file. Raises NotInsideError."""
        return _read(self.account / "token")

    @property
    def authority(self) -> Path:
        """The path of the certificate that verifies the API server."""
        return self.account / "ca.crt"


def in_pod(environment: Mapping[str, str], account: Path = ACCOUNT) -> PodContext:
    """Return the pod that this process is in. Raises NotInsideError, which names what is missing."""
    name, host = environment.get(NAME, ""), environment.get("KUBERNETES_SERVICE_HOST", "")
    if not (name and host):
        missing = "KUBERNETES_SERVICE_HOST" if name else NAME
        raise NotInsideError(
            f"this process does not run inside of a MiniCluster (there is no {missing} in its environment):"
            " from outside, `minicluster scale NAME SIZE` changes a size"
        )
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    return PodContext(name, _read(account / "namespace"), host, int(port), account)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NotInsideError(
            f"this pod has no token of a service account ({path}: {error.strerror}): set"
            " spec.pod.automountServiceAccountToken: true and spec.pod.serviceAccountName in the document"
        ) from error
