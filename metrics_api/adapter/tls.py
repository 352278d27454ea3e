"""TLS of the adapter's connections. Each counts from before its handshake, and takes little memory."""

from __future__ import annotations

import asyncio
from asyncio.sslproto import SSLProtocol
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import ssl

    from minicluster.kube_client.served_connections import ServedConnections

LAST_SECONDS = 2
"""Seconds for the end of TLS, before the connection is cut."""


class TlsConnection(SSLProtocol):
    """One connection's TLS, on top of which `handler` speaks HTTP."""

    max_size = 16 * 1024
    """Bytes of each connection's buffer. That of asyncio has 256 KiB, for clients that send much."""

    def __init__(
        self, connections: ServedConnections, handler: asyncio.BaseProtocol, context: ssl.SSLContext
    ) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            handler,
            context,
            None,  # type: ignore[arg-type]  # nobody waits for the handshake
            server_side=True,
            ssl_shutdown_timeout=LAST_SECONDS,
        )
        self._connections = connections
        self._handler = handler

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, and begin the handshake."""
        self._connections.admit(self._handler, cast("asyncio.Transport", transport))
        super().connection_made(transport)

    def buffer_updated(self, nbytes: int) -> None:
        """Count what was read, and take it."""
        self._connections.read(self._handler, nbytes)
        super().buffer_updated(nbytes)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Count the connection no more."""
        super().connection_lost(exc)
        self._connections.leave(self._handler)
