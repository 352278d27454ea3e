"""The user of a request that the API server's front proxy passes on, and how the proxy is verified. Pure.

The API server verifies its clients, and passes a request on with their names in headers. These count only on
a connection with the front proxy's own client certificate. Its authority and the names of the headers are in
the ConfigMap `extension-apiserver-authentication` (kubernetes.io: "Configure the Aggregation Layer").
"""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from minicluster.lead_server.errors import FilesUnusable, Unproven

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

AUTHORITIES = "requestheader-client-ca-file"
NAMES = "requestheader-allowed-names"
USERS = "requestheader-username-headers"
GROUPS = "requestheader-group-headers"
UIDS = "requestheader-uid-headers"
EXTRAS = "requestheader-extra-headers-prefix"
MASTERS = "system:masters"
"""The members of this group may do everything. The API server's own requests come from one of them."""


@dataclass(frozen=True)
class Identity:
    """The user of a request."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Name and values of each further header of the proxy, the prefix taken off."""


@dataclass(frozen=True)
class FrontProxy:
    """How the front proxy is verified, and in which headers it names users."""

    authorities: str
    """PEM certificates."""
    names: tuple[str, ...]
    """Common names of its certificate; none: any."""
    users: tuple[str, ...]
    """Names of headers, as the next three."""
    groups: tuple[str, ...]
    uids: tuple[str, ...]
    extras: tuple[str, ...]
    """Prefixes of headers."""

    @classmethod
    def of(cls, data: Mapping[str, str]) -> FrontProxy:
        """Read the data of the ConfigMap that the API server publishes. Raises FilesUnusable."""
        if not data.get(AUTHORITIES):
            raise FilesUnusable(
                f"there is no {AUTHORITIES}: the API server's aggregation layer is not configured"
                " (kube-apiserver --requestheader-client-ca-file)"
            )
        lists = [texts(data, key) for key in (NAMES, USERS, GROUPS, UIDS, EXTRAS)]
        found = cls(data[AUTHORITIES], *lists)
        found.trust(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        return found

    def trust(self, context: ssl.SSLContext) -> None:
        """Have a server's TLS context verify clients by the proxy's authorities. Raises FilesUnusable."""
        try:
            context.load_verify_locations(cadata=self.authorities)
        except (ssl.SSLError, ValueError) as error:
            raise FilesUnusable(f"{AUTHORITIES} holds no certificates") from error

    def identity(self, certificate: Mapping[str, Any] | None, headers: Iterable[tuple[str, str]]) -> Identity:
        """Return the request's user; `certificate` is the verified one of the connection. Raises Unproven."""
        common_names = {
            value
            for part in (certificate or {}).get("subject", ())
            for key, value in part
            if key == "commonName"
        }
        if not certificate or (self.names and not common_names & set(self.names)):
            raise Unproven("only the API server's front proxy is answered here: ask through the API server")
        given = [(name.lower(), value) for name, value in headers]
        user = next((value for wanted in _lower(self.users) for name, value in given if name == wanted), "")
        if not user:
            raise Unproven("the front proxy does not say who asks")
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


def texts(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    """Return a list of texts in JSON, empty where there is none. Raises FilesUnusable."""
    try:
        found = json.loads(data.get(key) or "[]")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise FilesUnusable(f"{key} is no list of texts in JSON")
    return tuple(found)


def _lower(names: Iterable[str]) -> list[str]:
    return [name.lower() for name in names]
