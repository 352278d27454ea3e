"""A TCP proxy that loses connections: streams of events after a number of bytes, or all of them at once."""

from __future__ import annotations

import asyncio
import contextlib

EVENTS = b"content-type: text/event-stream"


class LossyProxy:
    """Passes on what comes, in the event loop in which it was started."""

    def __init__(self) -> None:
        self.target = 0
        """The port behind it."""
        self.limits: list[int] = []
        """Bytes that the next streams of events have; then they are cut off. A further one has no limit."""
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> int:
        """Listen; return the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Accept no more."""
        assert self._server is not None
        self._server.close()

    async def cut(self) -> None:
        """Lose all connections."""
        for each in self._writers:
            each.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on both ways until one of both has ended."""
        with contextlib.suppress(OSError):
            behind = await asyncio.open_connection("127.0.0.1", self.target)
            ways = [
                asyncio.ensure_future(each)
                for each in (_copy(reader, behind[1]), self._answer(behind[0], writer))
            ]
            self._writers.add(writer)
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._writers.discard(writer)
                for way in ways:
                    way.cancel()
                for each in (writer, behind[1]):
                    each.transport.abort()
                await asyncio.gather(*ways, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left: int | None = None
        while data := await reader.read(65536):
            if EVENTS in data and self.limits:
                left = self.limits.pop(0)
            if left is not None:
                data, left = data[:left], left - len(data)
            writer.write(data)
            await writer.drain()
            if left is not None and left <= 0:
                return


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
