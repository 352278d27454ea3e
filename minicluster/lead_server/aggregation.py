"""What the door is told of the API server, so that it serves one of its APIs: whom it believes, who may read.

A lead broker has no right to ask the API server who may: who may read is named here. The API server itself
asks as one of `system:masters`.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.lead_server import front_proxy
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.front_proxy import MASTERS, FrontProxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.lead_server.front_proxy import Identity

HOST, USERS, GROUPS = "apis-host", "apis-users", "apis-groups"
FILES = (
    front_proxy.AUTHORITIES,
    front_proxy.NAMES,
    front_proxy.USERS,
    front_proxy.GROUPS,
    HOST,
    USERS,
    GROUPS,
)
"""Beside the certificate for readers of metrics: the API server's own words, and ours."""
DEFAULTS = {
    front_proxy.USERS: '["X-Remote-User"]',
    front_proxy.GROUPS: '["X-Remote-Group"]',
    USERS: '["system:serviceaccount:kube-system:horizontal-pod-autoscaler"]',
}
_HOST = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


@dataclass(frozen=True)
class Aggregation:
    """The name by which the API server asks, what it is known by, and which users and groups may read."""

    host: str
    proxy: FrontProxy
    users: tuple[str, ...]
    groups: tuple[str, ...]

    @classmethod
    def of(cls, files: Mapping[str, str]) -> Aggregation:
        """Return what is in the files, by name. Raises FilesUnusable."""
        values = {**DEFAULTS, **{name: text.strip() for name, text in files.items()}}
        host = values.get(HOST, "")
        if not _HOST.fullmatch(host):
            raise FilesUnusable(f"{HOST}: the name of the APIService's Service is right: NAME.NAMESPACE.svc")
        users, groups = front_proxy.texts(values, USERS), front_proxy.texts(values, GROUPS)
        return cls(host, FrontProxy.of(values), users, groups)

    def may_read(self, who: Identity) -> bool:
        """Tell whether somebody is among those who may read."""
        return who.user in self.users or not {MASTERS, *self.groups}.isdisjoint(who.groups)


class ProxyContext(ssl.SSLContext):
    """The TLS side of connections for the front proxy, and what was believed when they began."""

    aggregation: Aggregation
