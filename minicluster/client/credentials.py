"""Where a token comes from: it was given, or a login was stored that is renewed when it expires."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Protocol

from minicluster.client.addresses import is_plain, server_of
from minicluster.client.errors import NotLoggedIn
from minicluster.client.http_session import checked_token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.client.logins import Login, LoginFile

SERVER_VARIABLE = "MINICLUSTER_SERVER"
TOKEN_VARIABLE = "MINICLUSTER_TOKEN"  # noqa: S105 - the name of a variable
MARGIN = 30.0
"""Seconds before its end in which a token is used no more: it must be good when it arrives."""


class TokenSource(Protocol):
    """What has the token for one server."""

    def token(self) -> str:
        """Return the token; empty: requests have none. Raises NotLoggedIn."""

    def renewed(self, stale: str) -> bool:
        """Whether there is now another token than one that the server refused."""


class GivenToken:
    """A token that was given: it is not renewed."""

    def __init__(self, token: str) -> None:
        self._token = checked_token(token) if token else ""

    def token(self) -> str:
        """Return it."""
        return self._token

    def renewed(self, stale: str) -> bool:  # noqa: ARG002 - see the protocol
        """Return False."""
        return False


class StoredLogin:
    """The login for a server in the file of this user's logins, which several processes use.

    `refresh` gets a login, and returns the one that follows it.
    """

    def __init__(
        self,
        logins: LoginFile,
        server: str,
        refresh: Callable[[Login], Login],
        now: Callable[[], float],
    ) -> None:
        self._logins = logins
        self._server = server
        self._refresh = refresh
        self._now = now
        self._lock = threading.Lock()
        self._login: Login | None = None

    def token(self) -> str:
        """Return a token that is good for a while. Raises NotLoggedIn, and what `refresh` raises.

        Without a login it is empty for a server on loopback, which may need none (`serve --no-auth`).
        """
        with self._lock:
            if self._login is None:
                self._login = self._logins.get(self._server)
            if self._login is None and is_plain(self._server):
                return ""
            if self._login is None:
                raise NotLoggedIn(f"you are not logged in to {self._server}: {login_command(self._server)}")
            if self._expired(self._login):
                self._login = self._renew(self._login.token)
            return checked_token(self._login.token)

    def renewed(self, stale: str) -> bool:
        """Take the token of another process, or the next one. Raises what `refresh` raises."""
        with self._lock:
            if self._login is None or self._login.token != stale:
                return True
            if not self._login.refresh_token:
                return False
            self._login = self._renew(stale)
            return self._login.token != stale

    def _renew(self, stale: str) -> Login:
        """Return the login with another token than the stale one; only one process at a time asks for it."""
        with self._logins.locked() as stored:
            found = stored.get(self._server)
            if found is None:
                raise NotLoggedIn(f"you have logged out of {self._server}: {login_command(self._server)}")
            if (found.token != stale and not self._expired(found)) or not found.refresh_token:
                return found
            stored[self._server] = fresh = self._refresh(found)
            return fresh

    def _expired(self, login: Login) -> bool:
        return bool(login.refresh_token) and self._now() >= login.expires - MARGIN


def login_command(server: str) -> str:
    """Return the command with which one logs in."""
    return f"`minicluster login --server {server}`"


def server_in(environment: Mapping[str, str] = os.environ) -> str:
    """Return the server that MINICLUSTER_SERVER names; empty: none. Raises WrongServer."""
    text = environment.get(SERVER_VARIABLE, "")
    return server_of(text) if text else ""


def token_in(server: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the token of MINICLUSTER_TOKEN, if it is for this server; else an empty text.

    Beside a MINICLUSTER_SERVER it is for that one alone. Raises WrongServer, NotLoggedIn.
    """
    text = environment.get(TOKEN_VARIABLE, "").strip()
    if not text or server_in(environment) not in {"", server}:
        return ""
    return checked_token(text)
