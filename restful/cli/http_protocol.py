"""uvicorn's protocol for one connection, with bounds for what is not a request yet.

uvicorn itself waits for the head of a request for ever, and keeps of it whatever comes. So who sends a byte
now and then takes a descriptor, and who sends a head without an end the memory.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    import asyncio

GATHERED_BYTES = 64 << 10
"""Of an answer, which wait for more until the loop goes on: as many as a transport takes before it pauses."""
HEAD_SECONDS = 10.0
"""For the head of a request to arrive, from the connection or from its first byte."""
HEAD_BYTES = 64 << 10
"""Of a head, counted by what arrives at once. `RequestLimits.head_bytes` is less, and is refused in words."""
REFUSAL = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: application/problem+json\r\nconnection: close\r\n"
)
BODY = (
    b'{"type":"/problems/head-too-large","title":"The head of the request is larger than the limit",'
    b'"status":431,"detail":"the head has more than %d bytes","instance":""}' % HEAD_BYTES
)

log = logging.getLogger("restful.http")
log.setLevel(logging.ERROR)  # a line for each request that is none would let anybody fill the disk


class GatheringTransport:
    """A transport that writes together what comes together: the head and the body of a short answer.

    uvicorn writes them one after the other, and to write is what costs most of a short answer.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write with what else comes before the loop goes on; much is written at once, for flow control."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= GATHERED_BYTES:
            self._flush()

    def close(self) -> None:
        """Close the connection behind what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._transport.write(data)


class BoundedProtocol(HttpToolsProtocol):
    """See the module."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.logger = log
        self._in_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(cast("asyncio.Transport", GatheringTransport(transport, self.loop)))
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to read a head: the first byte of a request has come."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """End to read a head."""
        self._in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read what has come; refuse a head without an end, and wait for nothing in vain."""
        within = self._in_head
        super().data_received(data)
        if self._in_head and within:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
                self._refuse()
        elif self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()  # what has come is not the beginning of a request

    def _await_head(self) -> None:
        self._in_head, self._head_bytes = True, 0
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._late)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def _refuse(self) -> None:
        self._stop_waiting()
        length = b"content-length: %d\r\n\r\n" % len(BODY)
        self.transport.write(REFUSAL + length + BODY)
        self.transport.close()
