"""The lead's TCP listener for programs of malleable jobs; it is open from the first such job on."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import TYPE_CHECKING

from minicluster.embedded.log import ERR

if TYPE_CHECKING:
    from minicluster.embedded.log import Log
    from minicluster.malleable.callers import Callers

LOOPBACK = "127.0.0.1"
UNSENT = 1 << 20
"""Bytes that may wait for a program that does not read; with more its connection is closed."""


class TcpListener:
    """Implements `ports.Listener`. `host` is the lead's host name, None where all brokers are local."""

    def __init__(self, host: str | None, log: Log) -> None:
        self._host = host
        self._log = log
        self._address = ""
        self._opening: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._transports: dict[int, asyncio.Transport] = {}
        self._numbers = itertools.count(1)

    def open(self, callers: Callers) -> str:
        """Listen, at the first call, and return the address, host:port. Raises OSError."""
        if not self._address:
            ours = _bound(self._host is None)
            ours.setblocking(False)
            self._address = f"{self._host or LOOPBACK}:{ours.getsockname()[1]}"
            self._opening = asyncio.get_running_loop().create_task(self._serve(ours, callers))
        return self._address

    async def _serve(self, ours: socket.socket, callers: Callers) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self, callers), sock=ours)

    def joined(self, transport: asyncio.Transport) -> int:
        """Add a new connection, and return its number."""
        number = next(self._numbers)
        self._transports[number] = transport
        return number

    def left(self, connection: int) -> None:
        """Remove a connection that is gone."""
        self._transports.pop(connection, None)

    def send(self, connection: int, data: bytes) -> None:
        """Send data; a connection that is gone is ignored."""
        transport = self._transports.get(connection)
        if transport is None or transport.is_closing():
            return
        transport.write(data)
        if transport.get_write_buffer_size() > UNSENT:
            self._log(ERR, "the program of a malleable job does not read what it is told", "malleable")
            transport.abort()

    def hang_up(self, connection: int) -> None:
        """Close a connection once all its data is sent."""
        transport = self._transports.get(connection)
        if transport is not None:
            transport.close()

    def close(self) -> None:
        """Close the listener and all connections."""
        if self._opening is not None:
            self._opening.cancel()
        if self._server is not None:
            self._server.close()
        for transport in tuple(self._transports.values()):
            transport.abort()


def _bound(local: bool) -> socket.socket:
    """Return a listening socket: of loopback if `local`, else of both address families."""
    if not local and socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, backlog=128, dualstack_ipv6=True)
    return socket.create_server((LOOPBACK if local else "", 0), backlog=128)


class _Connection(asyncio.Protocol):
    def __init__(self, listener: TcpListener, callers: Callers) -> None:
        self._listener = listener
        self._callers = callers
        self._number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._number = self._listener.joined(transport)  # type: ignore[arg-type] # TCP's go both ways
        self._callers.opened(self._number)

    def data_received(self, data: bytes) -> None:
        self._callers.received(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - gone is gone
        self._listener.left(self._number)
        self._callers.closed(self._number)
