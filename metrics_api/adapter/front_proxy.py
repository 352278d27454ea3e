"""Who asks, as the API server's front proxy says, and by what it is known to be the front proxy. Pure.

The API server verifies its clients, and passes a request on with their names in headers. These count only on
a connection with the front proxy's own client certificate. By which authority that is signed, and what the
headers are called, stands in the ConfigMap `extension-apiserver-authentication` (kubernetes.io: "Configure
the Aggregation Layer").
"""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from metrics_api.adapter.errors import ConfigurationError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.plan.fields import Object

NAMESPACE = "kube-system"
CONFIG_MAP = "extension-apiserver-authentication"
_AUTHORITIES = "requestheader-client-ca-file"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """By what the front proxy is known: PEM certificates, common names (none: any), names of headers."""

    authorities: str
    names: tuple[str, ...]
    users: tuple[str, ...]
    groups: tuple[str, ...]
    uids: tuple[str, ...]
    extras: tuple[str, ...]

    @classmethod
    def of_config_map(cls, item: Object) -> FrontProxy:
        """Return what the API server has published. Raises ConfigurationError."""
        data = item.get("data") or {}
        if not data.get(_AUTHORITIES):
            raise ConfigurationError(
                f"ConfigMap {NAMESPACE}/{CONFIG_MAP} has no {_AUTHORITIES}: the API server's aggregation"
                " layer is not configured (kube-apiserver --requestheader-client-ca-file)"
            )

        def texts(key: str) -> tuple[str, ...]:
            return _texts(data.get(key) or "[]", key)

        found = cls(
            authorities=data[_AUTHORITIES],
            names=texts("requestheader-allowed-names"),
            users=texts("requestheader-username-headers"),
            groups=texts("requestheader-group-headers"),
            uids=texts("requestheader-uid-headers"),
            extras=texts("requestheader-extra-headers-prefix"),
        )
        found.trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        return found

    def trust(self, context: ssl.SSLContext) -> None:
        """Have a server's context verify what clients show. Raises ConfigurationError."""
        try:
            context.load_verify_locations(cadata=self.authorities)
        except ssl.SSLError as error:
            where = f"ConfigMap {NAMESPACE}/{CONFIG_MAP}"
            raise ConfigurationError(f"{where}: {_AUTHORITIES} holds no certificates") from error

    def has_signed(self, certificate: bytes | None) -> bool:
        """Whether a certificate (DER) is directly signed by one of the authorities."""
        if certificate is None:
            return False
        found = x509.load_der_x509_certificate(certificate)
        return any(_has_issued(each, found) for each in _loaded(self.authorities))

    def identity(self, certificate: Mapping[str, Any] | None, headers: Iterable[tuple[str, str]]) -> Identity:
        """Return who asks; `certificate` is the verified one of the connection. Raises UnauthorizedError."""
        common_names = {
            value
            for part in (certificate or {}).get("subject", ())
            for key, value in part
            if key == "commonName"
        }
        if not certificate or (self.names and not common_names & set(self.names)):
            raise UnauthorizedError(
                "only the API server's front proxy is answered here: ask through the API server"
            )
        given = [(name.lower(), value) for name, value in headers]
        user = next((value for wanted in _lower(self.users) for name, value in given if name == wanted), "")
        if not user:
            raise UnauthorizedError("the front proxy does not say who asks")
        return Identity(
            user,
            tuple(value for name, value in given if name in _lower(self.groups)),
            next((value for name, value in given if name in _lower(self.uids)), ""),
            self._extra(given),
        )

    def _extra(self, given: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, list[str]] = {}
        for name, value in given:
            for prefix in _lower(self.extras):
                if name.startswith(prefix) and len(name) > len(prefix):
                    found.setdefault(unquote(name[len(prefix) :]), []).append(value)
        return tuple((key, tuple(values)) for key, values in sorted(found.items()))


def _loaded(authorities: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(authorities.encode())


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _lower(names: Iterable[str]) -> list[str]:
    return [name.lower() for name in names]


def _texts(text: str, key: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ConfigurationError(f"ConfigMap {NAMESPACE}/{CONFIG_MAP}: {key} is no list of texts in JSON")
    return tuple(found)
