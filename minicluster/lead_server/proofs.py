"""The proofs that a client has shown: a token in a header, or a certificate that TLS has verified."""

from __future__ import annotations

import hmac
import ssl
from typing import TYPE_CHECKING, NamedTuple

from minicluster.lead_server.aggregation import ProxyContext
from minicluster.lead_server.routes import Audience

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from email.message import Message
    from typing import Any

    from minicluster.lead_server.aggregation import Aggregation
    from minicluster.lead_server.files import ServerCredentials


class Tokens(NamedTuple):
    """Which tokens a request has shown."""

    whole: bool
    """That of the lead API, which is good for every path."""
    metrics: bool
    """That for metrics."""


def tokens(headers: Message, credentials: ServerCredentials) -> Tokens:
    """Return which of the tokens a request shows."""
    given = headers.get_all("Authorization") or []
    scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
    shown = token.strip().encode("utf-8", "replace")
    # Compared with any scheme, so that the time it takes reveals nothing.
    keys = (credentials.token, credentials.metrics_token)
    whole, metrics = (hmac.compare_digest(shown, each) for each in keys)
    bearer = scheme.lower() == "bearer"
    return Tokens(bearer and whole, bearer and metrics and bool(credentials.metrics_token))


def refusal(audience: str, shown: Tokens) -> int:
    """Return with which status code a client is refused what is served to this audience; 0: it is not."""
    if audience != Audience.ALL and not any(shown):
        return 401
    return 403 if audience == Audience.DOOR and not shown.whole else 0


def is_certified(sock: socket.socket) -> bool:
    """Return whether the client has shown a reader's certificate, which TLS has verified.

    The front proxy's certificate is none: it proves the users that the proxy names.
    """
    return aggregation(sock) is None and bool(certificate(sock))


def certificate(sock: socket.socket) -> Mapping[str, Any] | None:
    """Return the certificate that the client has shown, or None."""
    return sock.getpeercert() if isinstance(sock, ssl.SSLSocket) else None


def aggregation(sock: socket.socket) -> Aggregation | None:
    """Return the settings for the front proxy, if the client asked for the API server's name; else None."""
    context = sock.context if isinstance(sock, ssl.SSLSocket) else None
    return context.aggregation if isinstance(context, ProxyContext) else None
