"""A connection to a port of a pod over Kubernetes' WebSocket protocol: each message begins with its channel.

For one port there are two channels, the data and errors in words; on both the first message is the port's
number. The channels have no end of their own: the connection's end is that of both directions.
"""

from __future__ import annotations

from typing import NamedTuple

import aiohttp

from minicluster.kube_client.errors import LostError, RefusalError

PROTOCOL = "v4.channel.k8s.io"
DATA, ERROR = 0, 1
CHUNK = 1 << 15
"""Most bytes in a message that is sent."""
_NUMBER = 2
"""Bytes of the port's number."""


class PodPort(NamedTuple):
    """A port of a pod, at the pod's own loopback."""

    namespace: str
    pod: str
    port: int


class PortStream:
    """The bytes of one connection."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse, target: PodPort) -> None:
        self._connection = connection
        self._target = target
        self._begun: set[int] = set()

    async def send(self, data: bytes) -> None:
        """Send to the port. Raises LostError."""
        view = memoryview(data)
        try:
            for start in range(0, len(view), CHUNK):
                await self._connection.send_bytes(bytes([DATA]) + view[start : start + CHUNK])
        except (aiohttp.ClientError, OSError) as error:
            raise LostError(f"{self._name()} was lost ({error})") from error

    async def receive(self) -> bytes:
        """Return what comes next, empty at the end. Raises RefusalError where nobody listens there."""
        async for message in self._connection:
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel not in self._begun:
                self._begun.add(channel)
                data = data[_NUMBER:]
            if data and channel == ERROR:
                raise RefusalError(f"{self._name()}: {data.decode(errors='replace').strip()}")
            if data and channel == DATA:
                return bytes(data)
        return b""

    def _name(self) -> str:
        return f"the connection to port {self._target.port} of pod {self._target.pod}"
