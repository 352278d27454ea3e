"""Verifies the API server's front proxy, by what the API server publishes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from metrics_api.adapter.errors import AdapterSettingsError
from metrics_api.answers.errors import UnauthorizedError
from minicluster.lead_server.routes import FilesUnusable, FrontProxy, Identity, Unproven

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.kube_client.objects import Object

NAMESPACE = "kube-system"
CONFIG_MAP = "extension-apiserver-authentication"


def of_config_map(item: Object) -> FrontProxy:
    """Read the ConfigMap that the API server publishes. Raises AdapterSettingsError."""
    try:
        return FrontProxy.of(item.get("data") or {})
    except FilesUnusable as error:
        raise AdapterSettingsError(f"ConfigMap {NAMESPACE}/{CONFIG_MAP}: {error}") from error


def identity(
    proxy: FrontProxy, certificate: Mapping[str, Any] | None, headers: Iterable[tuple[str, str]]
) -> Identity:
    """Return the request's user; `certificate` is the connection's verified one. Raises UnauthorizedError."""
    try:
        return proxy.identity(certificate, headers)
    except Unproven as error:
        raise UnauthorizedError(str(error)) from error


def has_signed(proxy: FrontProxy, certificate: bytes | None) -> bool:
    """Return whether a certificate (DER) is directly signed by one of the authorities."""
    if certificate is None:
        return False
    found = x509.load_der_x509_certificate(certificate)
    authorities = x509.load_pem_x509_certificates(proxy.authorities.encode())
    return any(_has_issued(each, found) for each in authorities)


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
