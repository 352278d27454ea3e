"""One HTTPS connection to the API of a lead broker.

h11 parses HTTP/1.1, and TLS runs over memory BIOs: the reasons and figures are in decision 0035.
The users of a MiniCluster can run any server there. So every read has a limit, every wait but the stream's
has a deadline, and redirects are not followed. Every failure is a LeadError with a message for users.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import h11

from minicluster.lead_client.errors import LeadError, LeadPortClosedError
from minicluster.plan import lead_dns_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from minicluster.lead_client.broker_pods import Lead

    T = TypeVar("T")

CONNECT_TIMEOUT = 3.0
"""Seconds for the connection, and again for its handshake."""
ANSWER_TIMEOUT = 5.0
"""Seconds for the head of an answer, and again for a whole body."""
REPORT_TIMEOUT = 45.0
"""Seconds without a line after which a stream counts as dead: a lead sends one at least every 15 s."""
MAX_HEAD_BYTES = 16 * 1024
MAX_LINE_BYTES = 64 * 1024
MAX_QUOTED_BYTES = 200
READ_INTERVAL = 0.05
"""Seconds of pause in reading from a lead after MAX_READ_BYTES: all leads share one event loop."""
MAX_READ_BYTES = 16 * 1024
READ_COST = 256
"""Bytes that each read, and each part of a body, counts on top of its size: small ones cost time too."""
PIECE_BYTES = 16 * 1024
UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})  # X509_V_ERR_…: no way from it to the operator's authority

_NOT_HTTP = "answers with something that is no HTTP"


class Address(NamedTuple):
    """The address of a lead's API."""

    host: str
    port: int
    name: str
    """The DNS name in its certificate."""

    @classmethod
    def of(cls, lead: Lead, port: int) -> Address:
        """Return the address of a lead broker's API at a port."""
        return cls(lead.address, port, lead_dns_name(lead.uid))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The beginning of an answer: its status code, and its header fields by lower-case name."""

    status: int
    fields: Mapping[str, str]


class _ClosedError(LeadError):
    """The lead has closed the connection."""


class LeadConnection:
    """A verified connection, which may be used for several requests. Every method raises LeadError."""

    __slots__ = (
        "_address",
        "_http",
        "_incoming",
        "_outgoing",
        "_reader",
        "_received",
        "_tls",
        "_writer",
        "fingerprint",
    )

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
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._received = 0  # bytes, of all answers so far
        self.fingerprint = ""
        """The SHA-256 of the lead's certificate in DER, in hex; empty before the handshake."""

    async def handshake(self) -> None:
        """Begin TLS. Raises LeadError where the certificate is not the one that this lead must have."""
        await self._drive(self._tls.do_handshake)
        self.fingerprint = hashlib.sha256(self._tls.getpeercert(binary_form=True) or b"").hexdigest()

    async def request(
        self, method: str, path: str, token: str, body: bytes | None = None, seconds: float | None = None
    ) -> ResponseHead:
        """Send a request, and return the head of its answer, which must come in `seconds`."""
        fields = [("Host", self._address.name), ("Authorization", f"Bearer {token}")]
        if body is not None:
            fields += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        head = h11.Request(method=method, target=path, headers=fields)
        try:
            if self._http.our_state is h11.DONE:
                self._http.start_next_cycle()
            parts = [self._http.send(each) for each in (head, h11.Data(data=body or b""), h11.EndOfMessage())]
        except h11.LocalProtocolError as error:
            raise self.error("takes no further request on this connection") from error
        sent = b"".join(each or b"" for each in parts)
        async with self._deadline(seconds or ANSWER_TIMEOUT, "does not answer"):
            await self._drive(lambda: self._tls.write(sent))
            return await self._head()

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of the body until the lead ends it."""
        pending = bytearray()
        body, received, cost = self._body(), self._received, 0
        while True:
            async with self._deadline(REPORT_TIMEOUT, "has been silent"):
                piece = await anext(body, b"")
            if not piece:
                return
            first, *others = piece.split(b"\n")
            pending += first
            for other in others:
                if not pending:
                    raise self.error("sends an empty line")
                yield bytes(pending)
                pending = bytearray(other)
            if len(pending) > MAX_LINE_BYTES:
                raise self.error(f"sends a line of more than {MAX_LINE_BYTES // 1024} KiB")
            cost += READ_COST
            if self._received - received + cost >= MAX_READ_BYTES:
                received, cost = self._received, 0
                await asyncio.sleep(READ_INTERVAL)

    async def content(self, limit: int) -> bytes:
        """Return the whole body; another request may follow. Raises LeadError beyond `limit` bytes."""
        read = bytearray()
        async with self._deadline(ANSWER_TIMEOUT, "does not finish its answer"):
            async for piece in self._body():
                read += piece
                if len(read) > limit:
                    raise self.error(f"answers more than {limit // 1024} KiB")
        return bytes(read)

    async def text(self, limit: int = MAX_QUOTED_BYTES) -> str:
        """Return the body as text; of a body of more than `limit` bytes only the beginning is read."""
        read = bytearray()
        async with self._deadline(ANSWER_TIMEOUT, "does not finish its answer"):
            async for piece in self._body():
                read += piece
                if len(read) >= limit:
                    break
        return read.decode(errors="replace")

    def error(self, what: str) -> LeadError:
        """Return an error with this lead's address and `what` it did."""
        return LeadError(f"the lead API at {self._address} {what}")

    @asynccontextmanager
    async def _deadline(self, seconds: float, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise self.error(f"{what} for {seconds:g} s") from None

    async def _head(self) -> ResponseHead:
        event = await self._event()
        # A "100 Continue" counts as an answer: no request expects one.
        if not isinstance(event, h11.Response | h11.InformationalResponse):
            raise self.error(_NOT_HTTP)
        fields = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        return ResponseHead(event.status_code, fields)

    async def _body(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    async def _event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        """Return the next part of the answer, and read as much as that needs."""
        ended = False
        while True:
            at_end = _error_at_end(self._http) if ended else _NOT_HTTP
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise self.error(at_end) from error
            if event is not h11.NEED_DATA:
                return event
            if ended:
                raise self.error(at_end)
            piece = await self._read()
            self._received += len(piece)
            self._http.receive_data(piece)
            ended = not piece

    async def _read(self) -> bytes:
        """Return the next bytes, none at the end."""
        try:
            return await self._drive(lambda: self._tls.read(PIECE_BYTES))
        except _ClosedError:
            return b""

    async def _drive(self, step: Callable[[], T]) -> T:
        """Do a step of TLS, and read and write as much as that needs."""
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._feed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError) as error:
                raise _ClosedError(str(self.error("hangs up"))) from error
            except ssl.SSLError as error:
                await self._flush()  # the alert, by which the lead learns what was wrong
                raise self.error(tls_message(error)) from error
            else:
                await self._flush()
                return result

    async def _feed(self) -> None:
        try:
            piece = await self._reader.read(PIECE_BYTES)
        except OSError as error:
            raise self.error(f"hangs up: {os_message(error)}") from error
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
                raise self.error(f"hangs up: {os_message(error)}") from error


@asynccontextmanager
async def connected(address: Address, context: ssl.SSLContext) -> AsyncIterator[LeadConnection]:
    """Yield a connection to a lead that has proved its identity. Raises LeadError."""
    lead = f"the lead API at {address}"
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            reader, writer = await asyncio.open_connection(address.host, address.port, limit=PIECE_BYTES)
    except TimeoutError:
        raise LeadError(f"{lead} does not answer: no connection within {CONNECT_TIMEOUT:g} s") from None
    except OSError as error:
        kind = LeadPortClosedError if isinstance(error, ConnectionRefusedError) else LeadError
        raise kind(f"{lead} does not answer: {os_message(error)}") from error
    try:
        connection = LeadConnection(address, context, reader, writer)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await connection.handshake()
        except TimeoutError:
            raise connection.error(f"does not begin TLS within {CONNECT_TIMEOUT:g} s") from None
        yield connection
    finally:
        writer.transport.abort()


def os_message(error: OSError) -> str:
    """Return the message of a failed system call."""
    return os.strerror(error.errno).lower() if error.errno else str(error) or type(error).__name__


def tls_message(error: ssl.SSLError) -> str:
    """Return what is wrong with the lead's TLS, as a clause."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in UNKNOWN_ISSUER:
            return "has another operator's certificate"
        if error.verify_message.startswith("Hostname mismatch"):
            return "has another MiniCluster's certificate"
        return f"has a certificate that does not hold: {error.verify_message}"
    return "does not speak TLS as it should"


def _error_at_end(http: h11.Connection) -> str:
    """Return what is wrong where the lead has hung up, and the answer is not whole."""
    if http.their_state is not h11.SEND_RESPONSE:
        return "hangs up within an answer"
    return _NOT_HTTP if http.trailing_data[0] else "hangs up without an answer"
