"""`POST /v1/instance`: the connection becomes one in lines, by which a client uses the instance.

The client shows a token for jobs or for bursts and asks for an upgrade (RFC 9110, section 7.8). Then it sends
requests as `broker_link.lines_server` describes them, and the broker's answers come back. What each token may
call is in `purposes`: it acts as the instance's owner, and may ask as any other user. Jobs without an
environment get BASE of the lead's, and nothing else of it.

One thread reads and writes the connection, as TLS demands; others call the broker. A client who is behind
gets no answers read for him, and one who takes nothing for STALL_SECONDS is disconnected. So is one whose
host is gone: TCP asks it when it has been silent. After KEEPALIVE seconds without an answer an empty object
is sent, by which the client knows that the lead is alive.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import ssl
import time
from typing import TYPE_CHECKING

from minicluster.broker_link.lines_server import LinesBroken, LinesServer
from minicluster.broker_link.outgoing_lines import OutgoingLines
from minicluster.lead_server.purposes import BURST, INSTANCE, JOBS, PURPOSES
from minicluster.lead_server.routes import Upgrade

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.broker_link.link import LeadLink
    from minicluster.lead_server.files import ServerCredentials
    from minicluster.lead_server.purposes import Purpose
    from minicluster.lead_server.routes import Routes

PROTOCOL = "minicluster-lines"
KEEPALIVE = 10.0
STALL_SECONDS = 20.0
CHANGED_SECONDS = 60.0
"""How long a connection goes on after its token was replaced: its client has the new one by then."""
DEAD_SECONDS = 30
"""After which a silent host counts as gone."""
BASE = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ")
_TICK = 1.0
_CHUNK = 1 << 16
_LAST_SECONDS = 2.0


def routes(connect: Callable[[], LeadLink], credentials: ServerCredentials) -> Routes:
    """Return the route. `connect` returns a link for the calling thread."""

    def serve(sock: socket.socket, early: bytes, shown: frozenset[str]) -> None:
        purpose = next(each for each in (JOBS, BURST) if each in shown)
        _Upgraded(sock, connect, credentials, PURPOSES[purpose]).run(early)

    return {INSTANCE: {"POST": lambda _query, _body: Upgrade(PROTOCOL, serve)}}


class _Upgraded:
    """One upgraded connection, in the thread of its client."""

    def __init__(
        self,
        sock: socket.socket,
        connect: Callable[[], LeadLink],
        credentials: ServerCredentials,
        purpose: Purpose,
    ) -> None:
        self._socket = sock
        self._credentials = credentials
        self._purpose = purpose.name
        self._token = credentials.tokens.get(purpose.name)
        self._changed_at: float | None = None
        self._awake, self._waker = socket.socketpair()
        self._waker.setblocking(False)
        self._outbox = OutgoingLines(self._wake)
        self._sending = b""
        self._ended = False
        self._progress = self._spoken = time.monotonic()
        self._lines = LinesServer(
            connect, self._outbox, purpose.refusal, self._end, _base(os.environ), os.getcwd()  # noqa: PTH109 - pathlib costs start time
        )  # fmt: skip

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: it is awake; closed: it is over
            self._waker.send(b"x")

    def _end(self) -> None:
        self._ended = True
        self._wake()

    def run(self, early: bytes) -> None:
        """Serve until either end hangs up. `early` is what the client sent with its request."""
        with selectors.DefaultSelector() as selector:
            try:
                watch_for_death(self._socket)
                self._socket.setblocking(False)
                selector.register(self._socket, selectors.EVENT_READ)
                selector.register(self._awake, selectors.EVENT_READ)
                self._lines.take(early)
                while not self._ended:
                    self._step(selector)
                self._send_last()
            except LinesBroken as error:
                self._outbox.put({"gone": str(error)})
                self._send_last()
            finally:
                self._lines.close()
                self._awake.close()
                self._waker.close()

    def _step(self, selector: selectors.BaseSelector) -> None:
        """Wait until something can be read or sent, and do so."""
        self._send()
        self._receive()
        writes = selectors.EVENT_WRITE if self._sending or self._outbox.size else 0
        reads = 0 if self._outbox.is_full else selectors.EVENT_READ
        selector.modify(self._socket, reads | writes or selectors.EVENT_READ)
        for key, _ in selector.select(_TICK):
            if key.fileobj is self._awake:
                self._awake.recv(4096)
        self._check(time.monotonic())

    def _receive(self) -> None:
        """Take in what the client sent, unless it is too far behind with reading."""
        while not (self._ended or self._outbox.is_full):
            try:
                data = self._socket.recv(_CHUNK)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                return
            if not data:
                self._ended = True
            self._lines.take(data)

    def _send(self) -> None:
        """Send what the connection takes. What TLS has begun to send must be offered again as it is."""
        while True:
            self._sending = self._sending or self._outbox.take(_CHUNK)
            if not self._sending:
                break
            try:
                count = self._socket.send(self._sending)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            self._sending = self._sending[count:]
            self._progress = self._spoken = time.monotonic()
        if self._outbox.has_drained():
            self._lines.drained()

    def _check(self, now: float) -> None:
        """End a connection that stands still, or whose token was replaced some time ago."""
        waits = bool(self._sending or self._outbox.size)
        self._progress = self._progress if waits else now
        if now - self._progress > STALL_SECONDS:
            raise TimeoutError("the client takes no answers")
        if now - self._spoken > KEEPALIVE and not waits:
            self._spoken = now
            self._outbox.put({})
        self._credentials.refresh()
        if self._credentials.tokens.get(self._purpose) == self._token:
            self._changed_at = None
        elif self._changed_at is None:
            self._changed_at = now
        elif now - self._changed_at > CHANGED_SECONDS:
            text = f"the token for {self._purpose} was replaced; connect with the new one"
            self._outbox.put({"gone": text})
            self._ended = True

    def _send_last(self) -> None:
        """Send what is left, as far as the client takes it at once."""
        self._socket.settimeout(_LAST_SECONDS)
        with contextlib.suppress(OSError):
            self._socket.sendall(self._sending + self._outbox.take(_CHUNK))


def watch_for_death(sock: socket.socket) -> None:
    """Have the system end a connection whose other host does not answer for DEAD_SECONDS."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "TCP_KEEPIDLE": DEAD_SECONDS // 2,
        "TCP_KEEPINTVL": DEAD_SECONDS // 6,
        "TCP_KEEPCNT": 3,
        "TCP_USER_TIMEOUT": DEAD_SECONDS * 1000,
    }
    for name, value in options.items():
        if hasattr(socket, name):  # where brokers run; a client may be elsewhere
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _base(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in BASE if name in environment}
