"""Limits on the clients of the operator's and the metrics adapter's servers: anybody may reach their ports.

A connection is unproven until its client has shown who it is. It is served one request, and has little time
and memory for that. When there are MAX_CONNECTIONS, a new one replaces the oldest unproven one. If all are
proven, it replaces the one that was used longest ago.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web
from aiohttp.http import HttpProcessingError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    WebHandler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.Response]]

MAX_CONNECTIONS = 128
UNPROVEN_SECONDS = 10.0
"""Seconds after which an unproven connection ends, whatever it is doing."""
UNPROVEN_BYTES = 128 * 1024
"""Bytes that are read from an unproven connection: a TLS handshake, and a request's head."""
LINE_BYTES = 4096
"""Bytes of a header line, without TLS."""
HEADERS = 32
"""Header lines of a request, without TLS."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Unproven:
    transport: asyncio.Transport
    end: asyncio.TimerHandle
    left: int = UNPROVEN_BYTES


class ServedConnections:
    """The open connections of a server, each by its aiohttp protocol."""

    def __init__(self, most: int = MAX_CONNECTIONS, unproven_seconds: float = UNPROVEN_SECONDS) -> None:
        self._most = most
        self._seconds = unproven_seconds
        self._unproven: dict[asyncio.BaseProtocol, _Unproven] = {}  # the oldest first
        self._proven: dict[asyncio.BaseProtocol, asyncio.Transport] = {}  # the one used longest ago first

    def admit(self, protocol: asyncio.BaseProtocol, transport: asyncio.Transport) -> None:
        """Add a connection that begins. If there are too many, end another one."""
        if len(self._unproven) + len(self._proven) >= self._most:
            self._end(next(iter(self._unproven or self._proven)))
        end = asyncio.get_running_loop().call_later(self._seconds, transport.abort)
        self._unproven[protocol] = _Unproven(transport, end)

    def leave(self, protocol: asyncio.BaseProtocol) -> None:
        """Remove a connection that ended."""
        self._taken(protocol)

    def read(self, protocol: asyncio.BaseProtocol, size: int) -> None:
        """Note that bytes of a connection were read. If there are too many, end it."""
        found = self._unproven.get(protocol)
        if found is not None:
            found.left -= size
            if found.left < 0:
                self._end(protocol)

    def prove(self, protocol: asyncio.BaseProtocol) -> None:
        """Note that the client has shown, again perhaps, who it is."""
        transport = self._taken(protocol)
        if transport is not None:
            self._proven[protocol] = transport

    def is_proven(self, protocol: asyncio.BaseProtocol) -> bool:
        """Return whether the client has shown who it is."""
        return protocol in self._proven

    def _end(self, protocol: asyncio.BaseProtocol) -> None:
        transport = self._taken(protocol)
        if transport is not None:
            transport.abort()

    def _taken(self, protocol: asyncio.BaseProtocol) -> asyncio.Transport | None:
        unproven = self._unproven.pop(protocol, None)
        if unproven is None:
            return self._proven.pop(protocol, None)
        unproven.end.cancel()
        return unproven.transport


class PlainServer(web.Server):
    """An HTTP server without TLS whose clients need not show who they are; each gets one answer."""

    def __init__(self, handler: WebHandler, connections: ServedConnections | None = None) -> None:
        super().__init__(
            partial(_last_answer, handler),
            access_log=None,
            logger=quiet_log(),
            max_line_size=LINE_BYTES,
            max_field_size=LINE_BYTES,
            max_headers=HEADERS,
        )
        self._limited = connections or ServedConnections()

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Add a connection."""
        self._limited.admit(handler, transport)
        super().connection_made(handler, transport)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Remove a connection."""
        super().connection_lost(handler, exc)
        self._limited.leave(handler)


async def _last_answer(handler: WebHandler, request: web.BaseRequest) -> web.Response:
    answer = await handler(request)
    answer.force_close()
    return answer


def quiet_log() -> logging.Logger:
    """Return a logger for aiohttp's server that leaves out malformed requests, except with `debug`."""
    if not log.filters:
        log.addFilter(_is_ours)
    return log


def _is_ours(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return log.isEnabledFor(logging.DEBUG) or not isinstance(error, HttpProcessingError)
