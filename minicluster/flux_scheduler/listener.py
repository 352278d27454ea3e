"""The TCP server for programs of malleable jobs, in the reactor of the scheduler's module."""

from __future__ import annotations

import contextlib
import itertools
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flux.constants import FLUX_POLLERR, FLUX_POLLIN, FLUX_POLLOUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.malleable.callers import Callers

LOOPBACK = "127.0.0.1"
UNSENT = 1 << 20
"""Bytes that may wait for a caller that does not read; with more its connection is closed."""
_READ = 1 << 16


@dataclass
class _Caller:
    socket: socket.socket
    reading: Any
    writing: Any
    unsent: bytes = b""
    closing: bool = False


class ReactorListener:
    """Listens for programs, and passes on what they send to `callers`.

    `host` is the lead's host name for its followers; None: all programs are local. `guarded` calls a function
    and catches what it raises: an exception in a watcher's callback would end the module.
    """

    def __init__(
        self, handle: Any, host: str | None, callers: Callers, guarded: Callable[[Callable[[], None]], None]
    ) -> None:
        self._handle = handle
        self._host = host
        self._callers = callers
        self._guarded = guarded
        self._accepting: Any = None
        self._server: socket.socket | None = None
        self._connected: dict[int, _Caller] = {}
        self._numbers = itertools.count(1)

    @property
    def address(self) -> str:
        """The address, host:port. The first access starts listening. Raises OSError."""
        if self._server is None:
            self._server = _bound(self._host is None)
            self._server.setblocking(False)
            self._accepting = self._watch(self._server, FLUX_POLLIN, self._accept)
            self._accepting.start()
        return f"{self._host or LOOPBACK}:{self._server.getsockname()[1]}"

    def send(self, connection: object, data: bytes) -> None:
        """Send; a connection that is gone is ignored."""
        caller = self._caller(connection)
        if caller is None or caller.closing:
            return
        caller.unsent += data
        self._flush(caller)

    def hang_up(self, connection: object) -> None:
        """Close a connection once all is sent."""
        caller = self._caller(connection)
        if caller is not None:
            caller.closing = True
            self._flush(caller)

    def _caller(self, connection: object) -> _Caller | None:
        return self._connected.get(connection) if isinstance(connection, int) else None

    def _watch(self, connection: socket.socket, events: int, call: Callable[[], None]) -> Any:
        return self._handle.fd_watcher_create(
            connection.fileno(), lambda *_: self._guarded(call), events | FLUX_POLLERR
        )

    def _accept(self) -> None:
        if self._server is None:
            return
        try:
            connection, _ = self._server.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = next(self._numbers)
        reading = self._watch(connection, FLUX_POLLIN, lambda: self._read(number))
        writing = self._watch(connection, FLUX_POLLOUT, lambda: self._write(number))
        self._connected[number] = _Caller(connection, reading, writing)
        reading.start()
        self._callers.opened(number)

    def _read(self, number: int) -> None:
        caller = self._connected.get(number)
        if caller is None:
            return
        try:
            data = caller.socket.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(number, caller)
            self._callers.closed(number)
        elif not caller.closing:
            self._callers.received(number, data)

    def _write(self, number: int) -> None:
        caller = self._connected.get(number)
        if caller is not None:
            self._flush(caller)

    def _flush(self, caller: _Caller) -> None:
        try:
            while caller.unsent:
                caller.unsent = caller.unsent[caller.socket.send(caller.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            caller.unsent, caller.closing = b"", True
        if len(caller.unsent) > UNSENT:
            caller.unsent, caller.closing = b"", True
        if caller.unsent:
            caller.writing.start()
            return
        caller.writing.stop()
        if caller.closing:
            with contextlib.suppress(OSError):  # then `_read` receives the end, and reports it
                caller.socket.shutdown(socket.SHUT_RDWR)

    def _drop(self, number: int, caller: _Caller) -> None:
        del self._connected[number]
        for watcher in (caller.reading, caller.writing):
            watcher.stop()
            watcher.destroy()
        caller.socket.close()


def _bound(local: bool) -> socket.socket:
    """Return a listening socket: on the loopback address if `local`, else of both address families."""
    if not local and socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, backlog=128, dualstack_ipv6=True)
    return socket.create_server((LOOPBACK if local else "", 0), backlog=128)
