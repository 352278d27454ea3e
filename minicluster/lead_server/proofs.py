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


_PURPOSES = {Audience.INSTANCE: (Audience.JOBS, Audience.BURST)}
"""Of an audience that is not called as its purpose."""


class Tokens(NamedTuple):
    """What a client has shown."""

    whole: bool
    """The token of the lead API, which is good for every path of the operator's, and for metrics."""
    purposes: frozenset[str] = frozenset()
    """The purposes of the tokens and certificates."""


def tokens(headers: Message, credentials: ServerCredentials) -> Tokens:
    """Return which of the tokens a request shows."""
    given = headers.get_all("Authorization") or []
    scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
    shown = token.strip().encode("utf-8", "replace")
    # Compared with any scheme, so that the time it takes reveals nothing.
    whole = hmac.compare_digest(shown, credentials.token)
    found = frozenset(
        name for name, each in credentials.tokens.items() if hmac.compare_digest(shown, each) and each
    )
    return Tokens(whole, found) if scheme.lower() == "bearer" else Tokens(whole=False)


def shown(headers: Message, credentials: ServerCredentials, sock: socket.socket) -> Tokens:
    """Return what a client has shown: tokens in its request, a certificate to TLS."""
    found = tokens(headers, credentials)
    if not is_certified(sock):
        return found
    return found._replace(purposes=found.purposes | {Audience.METRICS})


def words(audience: str, shown: Tokens) -> str:
    """Return why a client is refused that has shown something; empty: it has not."""
    if not any(shown):
        return ""
    if audience == Audience.DOOR:
        return f"what was shown is good for {', '.join(sorted(shown.purposes))} alone"
    return f"needed is a token for {' or '.join(_purposes(audience))}"


def refusal(audience: str, shown: Tokens) -> int:
    """Return with which status code a client is refused what is served to this audience; 0: it is not."""
    if audience == Audience.ALL:
        return 0
    if not any(shown):
        return 401
    asked = shown.purposes.intersection(_purposes(audience))
    welcome = shown.whole if audience == Audience.DOOR else bool(asked)
    return 0 if welcome or (audience == Audience.METRICS and shown.whole) else 403


def _purposes(audience: str) -> tuple[str, ...]:
    return _PURPOSES.get(audience, (audience,))


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
