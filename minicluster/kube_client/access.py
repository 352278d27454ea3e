"""The credentials for an API server: a kubeconfig's context, or in a pod the service account."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import yaml
from kubernetes import client, config

from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.errors import AccessError

# What the library raises for a kubeconfig that is absent, malformed, or something else altogether.
_UNUSABLE = (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError)
_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


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
        found = client.Configuration()
        try:
            if self._is_in_cluster():
                config.load_incluster_config(client_configuration=found)
            else:
                config.load_kube_config(
                    self.kubeconfig or None, self.context or None, client_configuration=found
                )
        except _UNUSABLE as error:
            raise AccessError(f"no way to a Kubernetes cluster: {self._explained(error)}") from error
        return _connection(found, self.namespace())

    def namespace(self) -> str:
        """Return the namespace of the context (in a pod: its own), `default` where it names none."""
        if self._is_in_cluster():
            return _pod_namespace()
        try:
            contexts, active = config.list_kube_config_contexts(self.kubeconfig or None)
        except _UNUSABLE:
            return "default"
        if self.context:
            active = next((each for each in contexts if each["name"] == self.context), active)
        return str((active or {}).get("context", {}).get("namespace") or "default")

    def _explained(self, error: Exception) -> str:
        """Return what is wrong with the kubeconfig, and what would be right."""
        paths = self.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        # pathlib raises where the user has no home directory, as in a pod.
        files = [Path(os.path.expanduser(each)) for each in paths.split(os.pathsep)]  # noqa: PTH111
        if not any(each.is_file() for each in files):
            return f"there is no kubeconfig {paths}; set KUBECONFIG, or give --kubeconfig FILE"
        try:
            contexts, _ = config.list_kube_config_contexts(self.kubeconfig or None)
        except _UNUSABLE:
            return f"{paths} is not a usable kubeconfig: {error}"
        names = [each["name"] for each in contexts]
        if self.context and self.context not in names:
            return f"there is no context {self.context} in {paths}; it has {', '.join(names)}"
        return f"{paths}: {error}"

    def _is_in_cluster(self) -> bool:
        given = self.kubeconfig or self.context or os.environ.get("KUBECONFIG")
        return not given and "KUBERNETES_SERVICE_HOST" in os.environ


def _pod_namespace() -> str:
    try:
        return _POD_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:
        return "default"


def _proxy(found: Any) -> str | None:
    """Return the proxy: the kubeconfig's, else the environment's. Raises AccessError."""
    if not found.proxy:
        return None
    if found.proxy in getproxies().values() and proxy_bypass(urlsplit(found.host).hostname or ""):
        return None
    scheme = urlsplit(found.proxy).scheme
    if scheme not in {"http", "https"}:
        raise AccessError(f"{found.host} is behind a proxy of the kind {scheme}: only http ones can be used")
    return str(found.proxy)


def _connection(found: Any, namespace: str) -> ApiCredentials:
    if found.tls_server_name:
        raise AccessError(
            f"the kubeconfig has the certificate of {found.host} checked for another name (tls-server-name:"
            f" {found.tls_server_name}), which is not supported: use an address that is in the certificate"
        )
    header = found.get_api_key_with_prefix("BearerToken") or found.get_api_key_with_prefix("authorization")
    scheme, _, token = (header or "").rpartition(" ")
    return ApiCredentials(
        server=found.host,
        ca_path=found.ssl_ca_cert,
        insecure=not found.verify_ssl,
        username=found.username or None,
        password=found.password or None,
        scheme=scheme or None,
        token=token or None,
        certificate_path=found.cert_file,
        private_key_path=found.key_file,
        default_namespace=namespace,
        proxy_url=_proxy(found),
    )
