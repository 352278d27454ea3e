"""Header fields that every response has, unless its route has set them (OWASP Secure Headers).

A response of the API is data: no browser shows it within a page, guesses what it is, keeps it, or hands it to
a page of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000"}
"""For a service at the port of HTTPS alone: it is about all ports of a host (RFC 6797), others' as well."""


class SecureHeaders:
    """ASGI middleware; `issuer` is the address where users reach the service."""

    def __init__(self, app: ASGIApp, issuer: str) -> None:
        address = urlsplit(issuer)
        strict = address.scheme == "https" and address.port in {None, 443}
        chosen = {**HEADERS, **(STRICT_TRANSPORT if strict else {})}
        self._app = app
        self._fields = [(name.lower().encode(), value.encode()) for name, value in chosen.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                there = {name.lower() for name, _ in given}
                message["headers"] = [*given, *(each for each in self._fields if each[0] not in there)]
            await send(message)

        await self._app(scope, receive, sent)
