"""What passes through a tunnel: idle connections to the relay, and pairs of connections.

See `burst.joining.relay` for the signs on an idle connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from burst.joining.relay import CHUNK, IDLE, SILENT_SECONDS, TAKEN
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import LostError, MissingError
from minicluster.kube_client.port_forward import PodPort
from minicluster.kube_client.resources import PODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from minicluster.kube_client.port_forward import PortStream
    from minicluster.kube_client.user_client import UserClient

SIGN_SECONDS = 5.0
"""Between two signs on an idle connection."""
CONNECT_SECONDS = 10.0
"""For a connection to a host: a policy that does not admit it answers nothing at all."""


class ByteStream(Protocol):
    """A connection."""

    async def send(self, data: bytes) -> None:
        """Send. Raises LostError."""

    async def receive(self) -> bytes:
        """Return what comes next, empty at the end. Raises KubernetesError."""


class ConnectionSide(Protocol):
    """One side of a tunnel."""

    def connected(self) -> contextlib.AbstractAsyncContextManager[ByteStream]:
        """Give a connection. Raises KubernetesError, OSError and TimeoutError."""


@dataclass(frozen=True)
class PodSide:
    """A port of the one pod that has some labels, through its API server."""

    client: UserClient
    namespace: str
    labels: str
    port: int

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[PortStream]:
        """Give a connection. Raises KubernetesError."""
        pods = (await self.client.list(Selection(PODS, self.namespace, self.labels))).items
        running = [
            each["metadata"]["name"]
            for each in pods
            if "deletionTimestamp" not in each["metadata"]
            and (each.get("status") or {}).get("phase") == "Running"
        ]
        if not running:
            raise MissingError(f"no pod with {self.labels} runs in namespace {self.namespace}")
        async with self.client.pods.forward(PodPort(self.namespace, running[0], self.port)) as stream:
            yield stream


class SocketStream:
    """The bytes of one connection by TCP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send. Raises LostError."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise LostError(f"the connection was lost ({error})") from error

    async def receive(self) -> bytes:
        """Return what comes next, empty at the end. Raises LostError."""
        try:
            return await self._reader.read(CHUNK)
        except OSError as error:
            raise LostError(f"the connection was lost ({error})") from error


@dataclass(frozen=True)
class HostSide:
    """A port of a host by TCP. Its name is resolved for each connection: a lead that moved is found again."""

    host: str
    port: int

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[SocketStream]:
        """Give a connection. Raises OSError and TimeoutError."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self.host, self.port)
        except TimeoutError as error:
            where = f"{self.host}:{self.port}"
            raise TimeoutError(f"no answer from {where} within {CONNECT_SECONDS:.0f} s") from error
        keep_alive(writer.get_extra_info("socket"))
        try:
            yield SocketStream(reader, writer)
        finally:
            writer.close()


def keep_alive(connection: socket.socket) -> None:
    """Have the kernel end a connection whose other host has gone without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # Linux has them
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)


async def taken(stream: ByteStream, on_idle: Callable[[], None]) -> bytes:
    """Wait until a follower has a connection to the relay; return what it has sent already.

    `on_idle` is called once the relay has answered. Raises KubernetesError, and TimeoutError after a silence.
    """
    signs = asyncio.create_task(_sign(stream))
    is_new = True
    try:
        while True:
            async with asyncio.timeout(SILENT_SECONDS):  # wait_for of Python 3.11 loses cancellations
                data = await stream.receive()
            if not data:
                raise LostError("the relay hung up")
            _, sign, rest = data.partition(TAKEN)
            if is_new:
                on_idle()
                is_new = False
            if sign:
                break
    finally:
        signs.cancel()
        await asyncio.wait([signs])
    await stream.send(TAKEN)
    return rest


async def _sign(stream: ByteStream) -> None:
    with contextlib.suppress(LostError):  # `receive` meets the end as well
        while True:
            await stream.send(IDLE)
            await asyncio.sleep(SIGN_SECONDS)


async def exchange(one: ByteStream, other: ByteStream, first: bytes) -> None:
    """Pass on what both send, until either ends; `first` is what `one` has sent before."""
    if first:
        await other.send(first)
    pumps = [asyncio.create_task(_pump(one, other)), asyncio.create_task(_pump(other, one))]
    try:
        ended, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for each in ended:
            each.result()
    finally:
        for each in pumps:
            each.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _pump(source: ByteStream, target: ByteStream) -> None:
    while data := await source.receive():
        await target.send(data)
