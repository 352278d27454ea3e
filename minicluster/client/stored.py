"""Connections with the login that is stored for a server, renewed when it expires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.client import oauth
from minicluster.client.connection import ServiceConnection
from minicluster.client.credentials import StoredLogin
from minicluster.client.retries import RetryPolicy
from minicluster.client.timing import SYSTEM, Timing

if TYPE_CHECKING:
    from minicluster.client.logins import Login, LoginFile


def stored_connection(
    server: str,
    logins: LoginFile,
    *,
    ca_file: str = "",
    retry: RetryPolicy | None = None,
    timing: Timing = SYSTEM,
) -> ServiceConnection:
    """Return a connection to a server. Raises NotLoggedIn where the logins cannot be read."""
    login = logins.get(server)
    ca_file = ca_file or (login.ca_file if login is not None else "")

    def refresh(stale: Login) -> Login:
        policy = RetryPolicy(seconds=oauth.REFRESH_SECONDS)
        anonymous = ServiceConnection(server, ca_file=ca_file, retry=policy, timing=timing)
        try:
            return oauth.refreshed(anonymous, stale)
        finally:
            anonymous.close()

    credentials = StoredLogin(logins, server, refresh, timing.now)
    return ServiceConnection(server, credentials, ca_file=ca_file, retry=retry, timing=timing)
