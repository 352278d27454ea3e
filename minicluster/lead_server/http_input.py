"""Reads a request's head and body, each up to a limit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from minicluster.lead_server.errors import BadRequest

if TYPE_CHECKING:
    from email.message import Message
    from typing import BinaryIO

    from minicluster.broker_link.link import JSON
    from minicluster.lead_server.connections import Connection

MAX_HEAD_BYTES = 16 << 10
"""Bytes of a request line and its headers together."""
MAX_BODY_BYTES = 64 << 10
"""Bytes."""


class HeadReader:
    """A stream that limits the bytes read as lines: http.server alone would read megabytes of headers."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.left = MAX_HEAD_BYTES

    def readline(self, _limit: int = -1) -> bytes:
        """Read a line, or nothing before the first. Raises BadRequest if the head is too long or cut off."""
        line = self._stream.readline(self.left + 1)
        begun = self.left < MAX_HEAD_BYTES
        self.left -= len(line)
        if self.left < 0:
            raise BadRequest(f"more than {MAX_HEAD_BYTES} bytes before the body", 431)
        if not line.endswith(b"\n") and (line or begun):
            raise BadRequest("the request breaks off")
        return line

    def read(self, size: int) -> bytes:
        """Read from a body, whose length the caller has checked."""
        return self._stream.read(size)

    def unread(self) -> bytes:
        """Return what was received and not read yet; the socket must not block."""
        try:
            return bytes(self._stream.peek())  # type: ignore[attr-defined]  # it is buffered
        except (OSError, ValueError):  # nothing was: it asked the socket
            return b""

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def read_body(headers: Message, stream: HeadReader, connection: Connection) -> JSON:
    """Read the body, a JSON object; without a body it is empty. Raises BadRequest."""
    lengths = headers.get_all("Content-Length") or ["0"]
    connection.unread = True
    if len(lengths) > 1 or ("Transfer-Encoding" in headers and "Content-Length" in headers):
        # A proxy in front might go by the other one, and see another request (RFC 9112, section 6.3).
        raise BadRequest("the body needs one length: one Content-Length, and no Transfer-Encoding")
    length = lengths[0]
    if "Transfer-Encoding" in headers or not (length.isascii() and length.isdigit()):
        raise BadRequest("a body needs its Content-Length", 411)
    size = int(length) if len(length) <= 10 else MAX_BODY_BYTES + 1
    if size > MAX_BODY_BYTES:
        raise BadRequest(f"the body may have {MAX_BODY_BYTES} bytes", 413)
    data = stream.read(size)
    connection.unread = False
    if len(data) < size:
        raise BadRequest("the body breaks off")
    try:
        body = json.loads(data or b"{}")
    except (ValueError, RecursionError) as error:
        raise BadRequest("the body is no JSON") from error
    if not isinstance(body, dict):
        raise BadRequest("the body must be an object")
    return body
