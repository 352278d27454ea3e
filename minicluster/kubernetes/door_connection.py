"""One HTTPS connection to a lead broker's door: as little of HTTP/1.1 as doors speak, in little memory.

Thousands of doors are listened to at once, and asyncio's own TLS holds 256 KiB a connection: hence the BIOs.
Whoever runs a MiniCluster can put anything behind its door: nothing is read without a limit or waited for
without a deadline, and whatever is wrong becomes a DoorError in words for people.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from minicluster.kubernetes.errors import ClosedDoorError, DoorError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    T = TypeVar("T")

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 5.0
"""Seconds until the head of an answer is there."""
SILENT_SECONDS = 45.0
"""A stream that is silent for so long is dead: the lead says something every 15 s."""
HEAD_BYTES = 16 * 1024
LINE_BYTES = 64 * 1024
SPACING = 0.05
"""Seconds between two lines of a lead that are looked at, at least."""
ALLOWANCE = 16 * 1024
"""Bytes of a body after which nothing is read for as long: all leads share one loop."""
PIECE_COST = 256
"""Bytes as which a piece counts besides its own: small ones cost work too."""
PIECE = 16 * 1024
QUOTED = 200
UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})  # X509_V_ERR_…: no way from it to the operator's authority

_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: |$)")
_NOT_HTTP = "answers with something that is no HTTP"


class Address(NamedTuple):
    """Where a door is, and the name in its certificate."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer."""

    status: int
    fields: Mapping[str, str]


class _EndError(DoorError):
    """The door has hung up."""


class DoorConnection:
    """A connection, verified. Everything raises DoorError."""

    __slots__ = ("_address", "_buffer", "_incoming", "_outgoing", "_reader", "_tls", "_writer")

    def __init__(
        self,
        address: Address,
        context: ssl.SSLContext,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._address = address
        self._reader = reader
        self._writer = writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=address.name)
        self._buffer = bytearray()

    async def shake_hands(self) -> None:
        """Begin TLS: raises where the certificate is not the one that this door must have."""
        await self._drive(self._tls.do_handshake)

    async def request(
        self, method: str, path: str, token: str, body: bytes | None = None, seconds: float | None = None
    ) -> Head:
        """Send a request, and return the head of its answer, which must come in time (`seconds`)."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._address.name}", f"Authorization: Bearer {token}"]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        sent = "\r\n".join([*lines, "", ""]).encode() + (body or b"")
        async with self._deadline(seconds or ANSWER_SECONDS, "does not answer"):
            await self._drive(lambda: self._tls.write(sent))
            return await self._head()

    async def lines(self, head: Head) -> AsyncIterator[bytes]:
        """Yield the body's lines until the door ends it."""
        pending = bytearray()
        body, spent = self._body(head), 0
        while True:
            async with self._deadline(SILENT_SECONDS, "has been silent"):
                piece = await anext(body, b"")
            if not piece:
                return
            first, *others = piece.split(b"\n")
            pending += first
            for other in others:
                if not pending:
                    raise self.trouble("sends an empty line")
                yield bytes(pending)
                pending = bytearray(other)
            if len(pending) > LINE_BYTES:
                raise self.trouble(f"sends a line of more than {LINE_BYTES // 1024} KiB")
            spent += len(piece) + PIECE_COST
            if spent >= ALLOWANCE:
                spent = 0
                await asyncio.sleep(SPACING)

    async def content(self, head: Head, limit: int) -> bytes:
        """Return the whole body, after which there may be another request; a longer one is refused."""
        read = bytearray()
        async with self._deadline(ANSWER_SECONDS, "does not finish its answer"):
            async for piece in self._body(head):
                read += piece
                if len(read) > limit:
                    raise self.trouble(f"answers more than {limit // 1024} KiB")
        return bytes(read)

    async def text(self, head: Head, most: int = QUOTED) -> str:
        """Return the beginning of the body, by default as far as it is worth quoting."""
        read = bytearray()
        async with self._deadline(ANSWER_SECONDS, "does not finish its answer"):
            async for piece in self._body(head):
                read += piece
                if len(read) >= most:
                    break
        return read.decode(errors="replace")

    def trouble(self, what: str) -> DoorError:
        """Return what is wrong with this door as an error."""
        return DoorError(f"the lead's door at {self._address} {what}")

    @asynccontextmanager
    async def _deadline(self, seconds: float, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise self.trouble(f"{what} for {seconds:g} s") from None

    async def _head(self) -> Head:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEAD_BYTES or not await self._fill():
                raise self.trouble(_NOT_HTTP if self._buffer else "hangs up without an answer")
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        found = _STATUS.match(first)
        if found is None:
            raise self.trouble(_NOT_HTTP)
        pairs = (line.decode("latin-1").partition(":")[::2] for line in lines)
        return Head(int(found[1]), {name.strip().lower(): value.strip() for name, value in pairs})

    async def _body(self, head: Head) -> AsyncIterator[bytes]:
        if head.fields.get("transfer-encoding", "").lower() == "chunked":
            while left := await self._chunk_size():
                while left:
                    piece = await self._take(left)
                    left -= len(piece)
                    yield piece
                if await self._line():
                    raise self.trouble(_NOT_HTTP)
            return
        left = self._number(head.fields.get("content-length", "0"), 10)
        while left:
            piece = await self._take(left)
            left -= len(piece)
            yield piece

    async def _chunk_size(self) -> int:
        # No extensions (RFC 9112, 7.1.1): doors send none, and they count towards no limit.
        return self._number((await self._line()).decode("latin-1"), 16)

    def _number(self, text: str, base: int) -> int:
        if not re.fullmatch(r"[0-9a-fA-F]{1,12}", text):
            raise self.trouble(_NOT_HTTP)
        try:
            return int(text, base)
        except ValueError:
            raise self.trouble(_NOT_HTTP) from None

    async def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > HEAD_BYTES:
                raise self.trouble(_NOT_HTTP)
            await self._more()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    async def _take(self, most: int) -> bytes:
        """Return the next bytes, at least one."""
        if not self._buffer:
            await self._more()
        piece = bytes(self._buffer[:most])
        del self._buffer[:most]
        return piece

    async def _more(self) -> None:
        if not await self._fill():
            raise self.trouble("hangs up within an answer")

    async def _fill(self) -> bool:
        """Read on; return False at the end."""
        try:
            piece = await self._drive(lambda: self._tls.read(PIECE))
        except _EndError:
            return False
        self._buffer += piece
        return bool(piece)

    async def _drive(self, step: Callable[[], T]) -> T:
        """Take a step of TLS, with as much reading and writing as that needs."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._feed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError) as error:
                raise _EndError(str(self.trouble("hangs up"))) from error
            except ssl.SSLError as error:
                await self._flush()  # the alert, which tells the door what was wrong
                raise self.trouble(_tls_trouble(error)) from error
            else:
                await self._flush()
                return done

    async def _feed(self) -> None:
        try:
            piece = await self._reader.read(PIECE)
        except OSError as error:
            raise self.trouble(f"hangs up: {_words(error)}") from error
        if piece:
            self._incoming.write(piece)
        else:
            self._incoming.write_eof()

    async def _flush(self) -> None:
        if self._outgoing.pending:
            try:
                self._writer.write(self._outgoing.read())
                await self._writer.drain()
            except OSError as error:
                raise self.trouble(f"hangs up: {_words(error)}") from error


@asynccontextmanager
async def connected(address: Address, context: ssl.SSLContext) -> AsyncIterator[DoorConnection]:
    """Have a connection to a door, which has proved to be the right one. Raises DoorError."""
    place = f"the lead's door at {address}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(address.host, address.port, limit=PIECE)
    except TimeoutError:
        raise DoorError(f"{place} does not answer: no connection within {CONNECT_SECONDS:g} s") from None
    except OSError as error:
        kind = ClosedDoorError if isinstance(error, ConnectionRefusedError) else DoorError
        raise kind(f"{place} does not answer: {_words(error)}") from error
    try:
        connection = DoorConnection(address, context, reader, writer)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await connection.shake_hands()
        except TimeoutError:
            raise connection.trouble(f"does not begin TLS within {CONNECT_SECONDS:g} s") from None
        yield connection
    finally:
        writer.transport.abort()


def _words(error: OSError) -> str:
    """Return what a system call's error says, in one piece."""
    return os.strerror(error.errno).lower() if error.errno else str(error) or type(error).__name__


def _tls_trouble(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in UNKNOWN_ISSUER:
            return "has another operator's certificate"
        if error.verify_message.startswith("Hostname mismatch"):
            return "has another MiniCluster's certificate"
        return f"has a certificate that does not hold: {error.verify_message}"
    return "does not speak TLS as it should"
