"""A session of `requests` that keeps tokens where they belong.

It follows no redirect, so that no other server gets a token; it takes none from ~/.netrc; and where it speaks
without TLS, on loopback, no proxy is between.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase

from minicluster.client import addresses
from minicluster.client.errors import NotLoggedIn, WrongServer

if TYPE_CHECKING:
    from collections.abc import Callable

_WITHOUT_BODY = frozenset({204, 304})
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 6750, section 2.1."""


def checked_token(text: str) -> str:
    """Return a token without the white space around it. Raises NotLoggedIn, which does not quote it."""
    token = text.strip()
    if not _TOKEN.fullmatch(token):
        raise NotLoggedIn("the token has characters that no token has (RFC 6750); was it copied as a whole?")
    return token


def is_cut(response: requests.Response) -> bool:
    """Return whether a connection may have been lost within an answer's head.

    What had come by then looks like an answer. Its head has no length, as it else has (RFC 9112, 6.3); so its
    body is empty, and must be taken for lost.
    """
    headers = response.headers
    stated = headers.get("Content-Length", "").isdigit() or headers.get("Transfer-Encoding") == "chunked"
    return not stated and response.status_code not in _WITHOUT_BODY


class Bearer(AuthBase):
    """Adds the token to requests for one server."""

    def __init__(self, server: str, token: Callable[[], str]) -> None:
        self._origin = urlsplit(server)[:2]
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header. Raises WrongServer, NotLoggedIn."""
        if urlsplit(request.url or "")[:2] != self._origin:
            raise WrongServer(f"a token of {'://'.join(self._origin)} is not sent to another server")
        if token := self._token():
            request.headers["Authorization"] = f"Bearer {token}"
        return request


class ServerSession(requests.Session):
    """The session. `ca_file` has the certificates of those who may vouch for the server, in PEM."""

    def __init__(self, server: str, token: Callable[[], str], ca_file: str = "") -> None:
        super().__init__()
        self._ca_file = ca_file
        self.trust_env = not addresses.is_plain(server)
        self.auth = Bearer(server, token)

    def get_redirect_target(self, resp: requests.Response) -> str | None:  # noqa: ARG002 - the name in requests
        """Return None: no redirect is followed."""
        return None

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Return the settings of a request; a CA file that was given counts above REQUESTS_CA_BUNDLE."""
        verify = verify or self._ca_file or None
        found = super().merge_environment_settings(url, proxies, stream, verify, cert)
        return {**found, "verify": self._ca_file or found["verify"] or True}
