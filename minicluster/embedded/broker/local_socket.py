"""The UNIX socket of a broker: length-prefixed JSON frames, for the instance's owner only.

Frame: 4 bytes big-endian length, then one JSON object. Request {"id", "topic", "payload"};
{"id", "cancel": true} ends a stream. Response {"id", "payload"} or {"id", "errnum", "errstr"}.
The broker sends no greeting.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import struct
from typing import TYPE_CHECKING

from minicluster.embedded.errors import BootError
from minicluster.embedded.services import Calls, Encoded, Registry, RpcRequest, failure

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.embedded.ports import JSON

FRAME_LIMIT = 16 << 20
_LENGTH = struct.Struct(">I")
_COMPACT = json.JSONEncoder(separators=(",", ":")).encode
_PATH_LIMIT = 107  # sun_path without its final zero
_GATHERED = 1 << 16  # bytes that are sent before the loop's turn is over


class Outbox:
    """Gathers the frames for one client during a turn of the loop, and sends them with one system call."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._frames: list[bytes] = []
        self._size = 0

    async def send(self, frame: bytes) -> None:
        """Queue a frame; returns when there is room for the next."""
        if not self._frames:
            asyncio.get_running_loop().call_soon(self.flush)
        self._frames.append(frame)
        self._size += len(frame)
        if self._size >= _GATHERED:
            self.flush()
        await self._writer.drain()

    def flush(self) -> None:
        """Send the queued frames."""
        if self._frames:
            self._writer.write(b"".join(self._frames))
            self._frames.clear()
            self._size = 0


class LocalSocket:
    """Serves `registry` on `path`."""

    def __init__(self, path: Path, registry: Registry, owner: int) -> None:
        self._path = path
        self._registry = registry
        self._owner = owner
        self._server: asyncio.AbstractServer | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen; a socket file left by a broker that was killed is replaced."""
        try:
            self._server = await asyncio.start_unix_server(self._client, sock=_listening(self._path))
        except OSError as error:
            raise BootError(f"local-uri: cannot listen on {self._path}: {error.strerror}") from error

    async def close(self) -> None:
        """Close every client's connection and remove the socket."""
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)
            clients = tuple(self._clients)
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            await asyncio.sleep(0)  # their connections close one step later

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if _peer_uid(writer) != self._owner:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs us in one
        self._clients.add(task)
        calls, outbox = Calls(self._registry), Outbox(writer)
        try:
            while True:
                self._take(calls, outbox, await _frame(reader))
        except (asyncio.IncompleteReadError, ConnectionError, ValueError, asyncio.CancelledError):
            pass  # hung up, no protocol, or our `close`: asyncio would report a cancelled client as an error
        finally:
            calls.cancel_all()
            outbox.flush()
            self._clients.discard(task)
            writer.transport.abort()  # without sending the rest: the client has gone

    def _take(self, calls: Calls, outbox: Outbox, message: JSON) -> None:
        number = message["id"]
        if message.get("cancel"):
            calls.cancel(number)
            return

        async def reply(response: JSON, *, last: bool) -> None:  # noqa: ARG001 - here an error ends a stream
            await outbox.send(encode({"id": number, **response}))

        payload = message.get("payload")
        topic = str(message.get("topic"))
        calls.start(number, RpcRequest(topic, payload if isinstance(payload, dict) else {}), reply)


def encode(message: JSON) -> bytes:
    """Return the frame of `message`; one too large for the protocol becomes EMSGSIZE."""
    payload = message.get("payload")
    if isinstance(payload, Encoded):
        body = f'{{"id":{message["id"]},"payload":{payload.text}}}'.encode()
    else:
        body = _COMPACT(message).encode()
    if len(body) > FRAME_LIMIT:
        refused = failure(errno.EMSGSIZE, f"the answer has {len(body)} bytes, over {FRAME_LIMIT}")
        body = json.dumps({"id": message["id"], **refused}).encode()
    return _LENGTH.pack(len(body)) + body


async def _frame(reader: asyncio.StreamReader) -> JSON:
    (length,) = _LENGTH.unpack(await reader.readexactly(4))
    if length > FRAME_LIMIT:
        raise ValueError(f"frame of {length} bytes")
    message = json.loads(await reader.readexactly(length))
    if not isinstance(message, dict) or not isinstance(message.get("id"), int):
        raise ValueError("no request")  # noqa: TRY004 - one kind for what is not the protocol
    return message


def _listening(path: Path) -> socket.socket:
    if len(os.fsencode(path)) > _PATH_LIMIT:
        raise BootError(
            f"local-uri: {path} has {len(os.fsencode(path))} bytes; a UNIX socket path may have {_PATH_LIMIT}"
        )
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # from its first moment no other user can open the socket
    try:
        listener.bind(os.fsencode(path))
    finally:
        os.umask(before)
    return listener


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    peer = writer.get_extra_info("socket")
    _pid, uid, _gid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)
