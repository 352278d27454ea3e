"""The credentials for an API server: a kubeconfig's context, or in a pod the service account."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.kube_client import service_account

if TYPE_CHECKING:
    from minicluster.kube_client.credentials import ApiCredentials


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, and where its credentials are; they are read anew when the server refuses them.

    In a pod, with neither field nor $KUBECONFIG, the service account is used.
    """

    kubeconfig: str = ""
    """Empty: $KUBECONFIG or ~/.kube/config."""
    context: str = ""
    """Empty: the current context."""

    def connect(self) -> ApiCredentials:
        """Return address and credentials. Raises AccessError."""
        if self._is_in_cluster():
            return service_account.credentials()
        from minicluster.kube_client import context_credentials  # noqa: PLC0415 - official client: 10 MB, 0.1 s

        return context_credentials.credentials(self.kubeconfig, self.context)

    def namespace(self) -> str:
        """Return the namespace of the context (in a pod: its own), `default` where it names none."""
        if self._is_in_cluster():
            return service_account.namespace()
        from minicluster.kube_client import context_credentials  # noqa: PLC0415 - as above

        return context_credentials.namespace(self.kubeconfig, self.context)

    def _is_in_cluster(self) -> bool:
        given = self.kubeconfig or self.context or os.environ.get("KUBECONFIG")
        return not given and service_account.is_given()
