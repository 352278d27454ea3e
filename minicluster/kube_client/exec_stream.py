"""Runs a command in a container over Kubernetes' WebSocket protocol: each message begins with its channel.

Every API server from 1.30 on has `v5.channel.k8s.io`. Unlike its forerunners it can close a channel, so that
a command reads the end of its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket as sockets
from typing import TYPE_CHECKING

import aiohttp

from minicluster.kube_client.errors import LostError, RefusalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.plan.objects.fields import Object

PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
CHUNK = 1 << 15
"""Most bytes in a message that is sent."""
PING_SECONDS = 15.0
DEAD_MILLISECONDS = 45_000
"""A connection is dead after so long without an acknowledgement by the other host."""


class ExecStream:
    """The command's streams; `exit_code` is None until it has ended."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse, pod: str) -> None:
        self._connection = connection
        self._pod = pod
        self.exit_code: int | None = None

    async def send(self, data: bytes, channel: int = STDIN) -> None:
        """Send to the command. Raises LostError."""
        view = memoryview(data)
        try:
            for start in range(0, len(view), CHUNK):
                await self._connection.send_bytes(bytes([channel]) + view[start : start + CHUNK])
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(str(error)) from error

    async def close_input(self) -> None:
        """Let the command read the end of its standard input."""
        await self.send(bytes([STDIN]), CLOSE)

    async def resize(self, columns: int, rows: int) -> None:
        """Send the size of the terminal."""
        await self.send(json.dumps({"Width": columns, "Height": rows}).encode(), RESIZE)

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        """Yield what the command writes, each piece with its channel, until it ends.

        Raises LostError where the connection breaks off before, RefusalError where the command could
        not be run.
        """
        async for message in self._connection:
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            channel, data = message.data[0], message.data[1:]
            if channel in {STDOUT, STDERR} and data:
                yield channel, data
            elif channel == STATUS:
                self.exit_code = _exit_code(json.loads(data))  # comes behind all output
                return
        error = self._connection.exception()
        raise self._lost(str(error) if error else "the API server hung up")

    def _lost(self, why: str) -> LostError:
        cause = f" ({why})" if why else ""
        return LostError(f"the connection to pod {self._pod} was lost{cause}; what was begun there goes on")


@contextlib.asynccontextmanager
async def kept_alive(connection: aiohttp.ClientWebSocketResponse) -> AsyncIterator[None]:
    """Ping within the block, so that a dead connection is noticed, even while its output is not read.

    That is so while the user has stopped the terminal's output.
    """
    raw = connection.get_extra_info("socket")
    if raw is not None and hasattr(sockets, "TCP_USER_TIMEOUT"):
        raw.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_USER_TIMEOUT, DEAD_MILLISECONDS)
    task = asyncio.ensure_future(_ping(connection))
    try:
        yield
    finally:
        task.cancel()
        await connection.close()


async def _ping(connection: aiohttp.ClientWebSocketResponse) -> None:
    with contextlib.suppress(aiohttp.ClientError, OSError):
        while True:
            await asyncio.sleep(PING_SECONDS)
            await connection.ping()


def _exit_code(status: Object) -> int:
    """Return the exit code in the Status that ends a command. Raises RefusalError where it did not run."""
    if status.get("status") == "Success":
        return 0
    if status.get("reason") == "NonZeroExitCode":
        causes = (status.get("details") or {}).get("causes") or ()
        code = next((each.get("message") for each in causes if each.get("reason") == "ExitCode"), None)
        if code is not None:
            return int(code)
    raise RefusalError(f"the command could not be run in the pod: {status.get('message') or status}")
