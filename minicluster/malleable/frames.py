"""The messages between tasks of one program: a kind, fields in JSON, and bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minicluster.malleable.errors import TeamError

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

_HEAD = struct.Struct(">IQ")
_TEXT_LIMIT = 16 << 20


@dataclass(frozen=True)
class Frame:
    """One message of a task. `body` is data as they lie in memory."""

    sender: int
    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes | bytearray = b""


def send(connection: socket.socket, frame: Frame) -> None:
    """Send a frame. Raises OSError."""
    text = json.dumps([frame.sender, frame.kind, dict(frame.fields)], separators=(",", ":")).encode()
    connection.sendall(_HEAD.pack(len(text), len(frame.body)) + text)
    if frame.body:
        connection.sendall(frame.body)


def receive(connection: socket.socket, limit: int | None = None) -> Frame:
    """Return the next frame. Raises OSError, also at the end, and TeamError for what is no frame.

    `limit` is the most bytes of the body, for a sender that has not proved yet to be of the program.
    """
    text_size, body_size = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if text_size > _TEXT_LIMIT or (limit is not None and text_size + body_size > limit):
        raise TeamError("a task sent what is no frame")
    try:
        sender, kind, fields = json.loads(_exactly(connection, text_size))
    except (ValueError, TypeError):
        fields = None
    if not isinstance(fields, dict):
        raise TeamError("a task sent what is no frame")
    return Frame(sender, kind, fields, _exactly(connection, body_size))


def _exactly(connection: socket.socket, count: int) -> bytearray:
    data = bytearray(count)
    view, have = memoryview(data), 0
    while have < count:
        got = connection.recv_into(view[have:])
        if not got:
            raise ConnectionResetError("the connection has ended")
        have += got
    return data
