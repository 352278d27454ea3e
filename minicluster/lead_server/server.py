"""The HTTPS server. Each connection has a thread, which also does its TLS handshake: `accept` never waits."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from minicluster.lead_server.connections import Connection, Connections
from minicluster.lead_server.errors import OperationFailed
from minicluster.lead_server.handler import Handler, RouteTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from minicluster.lead_server.files import ServerCredentials
    from minicluster.lead_server.routes import AggregatedHandler, Routes

SOCKET_TIMEOUT = 20.0
"""Seconds that a client may take for one read or write."""
UNPROVEN_LOG_INTERVAL = 60.0
"""Seconds between two lines in the log about clients that have shown no token."""


class Server(socketserver.TCPServer):
    """Listens on every address at `port`; `log` is called with the server's own problems.

    `audiences` and `proxied` are those of `RouteTable`. Raises OSError if the port cannot be bound.
    """

    allow_reuse_address = True
    request_queue_size = 256

    def __init__(
        self,
        port: int,
        credentials: ServerCredentials,
        routes: Routes,
        log: Callable[[str], None],
        audiences: Mapping[str, str] | None = None,
        proxied: Mapping[str, AggregatedHandler] | None = None,
    ) -> None:
        self._credentials = credentials
        self._log = log
        self._next_unproven = 0.0  # when the next line may be logged that anybody can bring about
        self.connections = Connections()
        table = RouteTable(routes, audiences or {}, proxied or {})
        self._handle = partial(Handler, credentials=credentials, table=table)
        self.address_family, address = _any_address()
        super().__init__((address, port), self._handle, bind_and_activate=False)
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            self.server_bind()
            self.server_activate()
        except OSError:
            self.server_close()
            raise

    @property
    def port(self) -> int:
        """The port on which it listens, also if it was made with port 0."""
        return int(self.socket.getsockname()[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own."""
        connection = self.connections.admit(request)
        thread = threading.Thread(
            target=self._serve, args=(connection, client_address), name="door-client", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads: others will end
            self.connections.leave(connection)
            self.shutdown_request(request)
            self._log_unproven(f"turned a client away: {error}")

    def _serve(self, connection: Connection, client_address: Any) -> None:
        try:
            sock = connection.socket
            sock.settimeout(SOCKET_TIMEOUT)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._credentials.refresh()
            connection.socket = self._credentials.context.wrap_socket(
                sock, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
            )
            connection.socket.do_handshake()
            self._handle(connection, client_address, self)
        except OSError:
            pass  # the client has no TLS, is too slow or gone (ssl.SSLError is one too)
        except Exception as error:  # noqa: BLE001 - one client must not end the server
            text = str(error) if isinstance(error, OperationFailed) else f"{type(error).__name__}: {error}"
            log = self._log if connection.unproven_since is None else self._log_unproven
            log(f"a client's request failed: {text}")
        finally:
            connection.close()
            self.connections.leave(connection)

    def _log_unproven(self, text: str) -> None:
        """Log what anybody can bring about, a line in UNPROVEN_LOG_INTERVAL: nobody is to fill the log."""
        if time.monotonic() >= self._next_unproven:
            self._next_unproven = time.monotonic() + UNPROVEN_LOG_INTERVAL
            self._log(text)

    def stop(self) -> None:
        """Accept no more connections; return when `serve_forever` has ended."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes it up
        self.shutdown()

    def service_actions(self) -> None:
        """End unproven connections that take too long; called twice a second."""
        self.connections.expire()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do not log a client that disconnected while it was accepted."""


def _any_address() -> tuple[socket.AddressFamily, str]:
    """Return IPv6's wildcard address, which includes IPv4, or IPv4's if the machine has no IPv6."""
    if socket.has_ipv6:
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::", 0))
        except OSError:
            pass
        else:
            return socket.AF_INET6, "::"
    return socket.AF_INET, "0.0.0.0"  # noqa: S104 - the pod's own address is not known before; clients need the token
