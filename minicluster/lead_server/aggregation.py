"""The lead server's settings as a server behind the API server's aggregation layer: its host, who may read.

A lead broker has no right to ask the API server for authorization. So the users and groups that may read are
listed in files. The API server's own requests come from a member of `system:masters`.
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
"""Files beside the certificate for readers of metrics: what the API server has published, then our own."""
DEFAULTS = {
    front_proxy.USERS: '["X-Remote-User"]',
    front_proxy.GROUPS: '["X-Remote-Group"]',
    USERS: '["system:serviceaccount:kube-system:horizontal-pod-autoscaler"]',
}
_HOST = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


@dataclass(frozen=True)
class Aggregation:
    """What one API server's aggregation layer needs of the lead server."""

    host: str
    """The server name (SNI) of the API server's requests."""
    proxy: FrontProxy
    users: tuple[str, ...]
    """Those that may read."""
    groups: tuple[str, ...]
    """Those whose members may read."""

    @classmethod
    def of(cls, files: Mapping[str, str]) -> Aggregation:
        """Read the files' contents, given by file name. Raises FilesUnusable."""
        values = {**DEFAULTS, **{name: text.strip() for name, text in files.items()}}
        host = values.get(HOST, "")
        if not _HOST.fullmatch(host):
            raise FilesUnusable(f"{HOST}: the name of the APIService's Service is right: NAME.NAMESPACE.svc")
        users, groups = front_proxy.texts(values, USERS), front_proxy.texts(values, GROUPS)
        return cls(host, FrontProxy.of(values), users, groups)

    def may_read(self, who: Identity) -> bool:
        """Return whether this user may read."""
        return who.user in self.users or not {MASTERS, *self.groups}.isdisjoint(who.groups)


class ProxyContext(ssl.SSLContext):
    """The TLS context of connections from the front proxy, with the settings that held when they began."""

    aggregation: Aggregation
