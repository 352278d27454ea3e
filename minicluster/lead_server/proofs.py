"""What a client has proved who it is with: a token that it shows, or a certificate that TLS has checked."""

from __future__ import annotations

import hmac
import ssl
from typing import TYPE_CHECKING, NamedTuple

from minicluster.lead_server.aggregation import ProxyContext

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping
    from email.message import Message
    from typing import Any

    from minicluster.lead_server.aggregation import Aggregation
    from minicluster.lead_server.files import ServerCredentials


class Tokens(NamedTuple):
    """Whether the door's own token was shown, and whether that for metrics was."""

    whole: bool
    metrics: bool


def tokens(headers: Message, credentials: ServerCredentials) -> Tokens:
    """Tell which of the tokens a request shows."""
    given = headers.get_all("Authorization") or []
    scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
    shown = token.strip().encode("utf-8", "replace")
    # Compared whatever the scheme: how long it takes tells nothing.
    keys = (credentials.token, credentials.metrics_token)
    whole, metrics = (hmac.compare_digest(shown, each) for each in keys)
    bearer = scheme.lower() == "bearer"
    return Tokens(bearer and whole, bearer and metrics and bool(credentials.metrics_token))


def is_certified(sock: socket.socket) -> bool:
    """Tell whether the client has shown a reader's certificate, which TLS has held against the authority.

    That of the front proxy, whom others are believed in, is none.
    """
    return aggregation(sock) is None and bool(certificate(sock))


def certificate(sock: socket.socket) -> Mapping[str, Any] | None:
    """Return the certificate that the client has shown, if it has."""
    return sock.getpeercert() if isinstance(sock, ssl.SSLSocket) else None


def aggregation(sock: socket.socket) -> Aggregation | None:
    """Return what the connection was begun with, if that was by the name for the API server."""
    context = sock.context if isinstance(sock, ssl.SSLSocket) else None
    return context.aggregation if isinstance(context, ProxyContext) else None
