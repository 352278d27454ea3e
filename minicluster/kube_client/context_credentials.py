"""Kubeconfig files, read by the official client: contexts, certificates, and plug-ins for credentials."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.request import getproxies

import yaml
from kubernetes import client, config

from minicluster.kube_client import proxies
from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.errors import AccessError

# What the library raises for a kubeconfig that is absent, malformed, or something else altogether.
_UNUSABLE = (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError)


def credentials(kubeconfig: str, context: str) -> ApiCredentials:
    """Return a context's address and credentials; empty: as `Access` has it. Raises AccessError."""
    found = client.Configuration()
    try:
        config.load_kube_config(kubeconfig or None, context or None, client_configuration=found)
    except _UNUSABLE as error:
        raise AccessError(
            f"no way to a Kubernetes cluster: {_explained(kubeconfig, context, error)}"
        ) from error
    return _connection(found, namespace(kubeconfig, context))


def namespace(kubeconfig: str, context: str) -> str:
    """Return the namespace of a context, `default` where it names none."""
    try:
        contexts, active = config.list_kube_config_contexts(kubeconfig or None)
    except _UNUSABLE:
        return "default"
    if context:
        active = next((each for each in contexts if each["name"] == context), active)
    return str((active or {}).get("context", {}).get("namespace") or "default")


def _explained(kubeconfig: str, context: str, error: Exception) -> str:
    """Return what is wrong with the kubeconfig, and what would be right."""
    paths = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    # pathlib raises where the user has no home directory, as in a pod.
    files = [Path(os.path.expanduser(each)) for each in paths.split(os.pathsep)]  # noqa: PTH111
    if not any(each.is_file() for each in files):
        return f"there is no kubeconfig {paths}; set KUBECONFIG, or give --kubeconfig FILE"
    try:
        contexts, _ = config.list_kube_config_contexts(kubeconfig or None)
    except _UNUSABLE:
        return f"{paths} is not a usable kubeconfig: {error}"
    names = [each["name"] for each in contexts]
    if context and context not in names:
        return f"there is no context {context} in {paths}; it has {', '.join(names)}"
    return f"{paths}: {error}"


def _proxy(found: Any) -> str | None:
    """Return the proxy: the kubeconfig's, else the environment's. Raises AccessError."""
    if found.proxy in getproxies().values() and proxies.is_bypassed(found.host):
        return None
    return proxies.usable(found.host, found.proxy)


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
