"""A lead's instance over its API: one connection, upgraded to lines, for threads.

What `connection` has of TLS and HTTP holds here as well. The difference: many threads write, and one reads.
TLS runs over memory BIOs behind a lock, and the socket is read and written without it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING

import h11

from minicluster.lead_client.connection import (
    ANSWER_TIMEOUT,
    CONNECT_TIMEOUT,
    MAX_HEAD_BYTES,
    MAX_QUOTED_BYTES,
    PIECE_BYTES,
    os_message,
    tls_message,
)
from minicluster.lead_client.errors import (
    LeadBusyError,
    LeadError,
    LeadPortClosedError,
    LeadTokenError,
    LeadTooOldError,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from minicluster.lead_client.connection import Address

PATH = "/v1/instance"
PROTOCOL = "minicluster-lines"
SILENT_SECONDS = 30.0
"""After which a lead counts as dead: it sends a line every 10 s."""
MAX_LINE_BYTES = 64 << 20
"""A lead's line: job-list answers many jobs in one. A MiniCluster's users can run any server there."""
_RESTART = (
    "pods that release 0.1.0 made have no such token until their MiniCluster is restarted once:"
    " `kubectl delete job NAME` makes them anew (docs/operator.md)"
)


class LeadChannel:
    """A verified connection to a lead, upgraded to lines; see `Channel`. Raises LeadError."""

    def __init__(self, address: Address, context: ssl.SSLContext, token: str, purpose: str = "jobs") -> None:
        self._address = address
        self._purpose = purpose
        self._lock = threading.Lock()  # the state of TLS
        self._sending = threading.Lock()  # the order of what is sent
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=address.name)
        self._how_ended = ""
        self._closed = self._is_read = False
        self._deadline: float | None = time.monotonic() + CONNECT_TIMEOUT + ANSWER_TIMEOUT
        self._socket = self._connected()
        try:
            self._handshake()
            self._rest = self._upgraded(token)
        except TimeoutError:
            self._socket.close()
            raise self._error(f"does not answer for {ANSWER_TIMEOUT:g} s") from None
        except OSError as error:
            self._socket.close()
            raise self._error(f"hangs up: {_message(error)}") from error
        except BaseException:
            self._socket.close()
            raise
        self._deadline = None
        self._socket.settimeout(SILENT_SECONDS)

    def _error(self, what: str, kind: type[LeadError] = LeadError) -> LeadError:
        return kind(f"the lead API at {self._address} {what}")

    def _connected(self) -> socket.socket:
        try:
            connection = socket.create_connection((self._address.host, self._address.port), CONNECT_TIMEOUT)
        except OSError as error:
            kind = LeadPortClosedError if isinstance(error, ConnectionRefusedError) else LeadError
            raise self._error(f"does not answer: {os_message(error)}", kind) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _handshake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._feed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError) as error:
                raise self._error("hangs up") from error
            except ssl.SSLError as error:
                self._flush()  # the alert, by which the lead learns what was wrong
                raise self._error(tls_message(error)) from error
            else:
                self._flush()
                return

    def _feed(self) -> None:
        """Read from the socket. Raises OSError, among them TimeoutError."""
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
        data = self._socket.recv(PIECE_BYTES)
        with self._lock:
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def _flush(self) -> None:
        """Send what TLS has to send, in its order. Raises OSError."""
        with self._sending:
            with self._lock:
                data = self._outgoing.read()
            if data:
                self._socket.sendall(data)

    def _read(self) -> bytes:
        """Return what was sent next; nothing at the end. Raises OSError."""
        while True:
            try:
                with self._lock:
                    return self._tls.read(PIECE_BYTES)
            except ssl.SSLWantReadError:
                if self._outgoing.pending:
                    self._flush()
                self._feed()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    # -- the upgrade -----------------------------------------------------------------------------------

    def _upgraded(self, token: str) -> bytes:
        """Ask for lines; return what came behind the answer. Raises LeadError, OSError."""
        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        fields = [
            ("Host", self._address.name),
            ("Authorization", f"Bearer {token}"),
            ("Connection", "Upgrade"),
            ("Upgrade", PROTOCOL),
            ("Content-Length", "0"),
        ]
        request = http.send(h11.Request(method="POST", target=PATH, headers=fields))
        self.write((request or b"") + (http.send(h11.EndOfMessage()) or b""))
        answer = self._event(http)
        if isinstance(answer, h11.InformationalResponse) and answer.status_code == 101:
            return http.trailing_data[0]
        if not isinstance(answer, h11.Response):
            raise self._error("answers with something that is no HTTP")
        raise self._refusal(answer.status_code, self._body(http))

    def _event(self, http: h11.Connection) -> object:
        while True:
            try:
                event = http.next_event()
            except h11.RemoteProtocolError as error:
                raise self._error("answers with something that is no HTTP") from error
            if event is not h11.NEED_DATA:
                return event
            http.receive_data(self._read())

    def _body(self, http: h11.Connection) -> str:
        """Return what a refusal says, or nothing."""
        body = b""
        while len(body) < MAX_QUOTED_BYTES and isinstance(event := self._event(http), h11.Data):
            body += event.data
        try:
            return str(json.loads(body)["error"])[:MAX_QUOTED_BYTES]
        except (ValueError, KeyError, TypeError):
            return ""

    def _refusal(self, code: int, words: str) -> LeadError:
        match code:
            case 401:
                what = f"does not accept the token for {self._purpose}: {_RESTART}"
                return self._error(what, LeadTokenError)
            case 403:
                words = words or f"it is not for {self._purpose}"
                return self._error(f"refuses the token: {words}", LeadTokenError)
            case 404 | 405:
                return self._error(
                    "is of a release that serves no jobs: its MiniCluster must be restarted once with a newer"
                    " image",
                    LeadTooOldError,
                )
            case 503:
                return self._error(f"admits no further connection: {words}", LeadBusyError)
        return self._error(f"answers {code}" + (f": {words}" if words else ""))

    # -- Channel ---------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send. Raises OSError where that is not possible any more."""
        with self._sending:
            if self._closed:
                raise BrokenPipeError
            with self._lock:
                try:
                    self._tls.write(data)
                except ssl.SSLError as error:
                    raise BrokenPipeError from error
                sent = self._outgoing.read()
            try:
                self._socket.sendall(sent)
            except OSError:
                self.close()  # what was sent in part cannot be gone on with
                raise

    def lines(self) -> Generator[bytes]:
        """Yield each line that comes, until either end hangs up."""
        pending = bytearray()
        self._is_read = True
        try:
            data, self._rest = self._rest or self._read(), b""
            while data:
                *lines, rest = data.split(b"\n")
                for line in lines:
                    yield bytes(pending) + line
                    pending.clear()
                pending += rest
                if len(pending) > MAX_LINE_BYTES:
                    self._how_ended = f"sends a line of more than {MAX_LINE_BYTES >> 20} MiB"
                    return
                data = self._read()
            self._how_ended = "hangs up"
        except TimeoutError:
            self._how_ended = f"has been silent for {SILENT_SECONDS:g} s"
        except OSError as error:
            self._how_ended = f"hangs up: {_message(error)}"
        finally:
            self._is_read = False
            self.close()

    def how_ended(self) -> str:
        """Return how the connection ended."""
        if not self._how_ended:
            return "this connection was closed"
        return str(self._error(self._how_ended))

    def close(self) -> None:
        """Hang up. The thread that reads comes to the end, and closes the socket."""
        self._closed = True
        with contextlib.suppress(OSError):  # it is not connected any more
            self._socket.shutdown(socket.SHUT_RDWR)
        if not self._is_read:
            self._socket.close()


def _message(error: OSError) -> str:
    return "it does not speak TLS as it should" if isinstance(error, ssl.SSLError) else os_message(error)
