"""The sockets of a played instance: connections that open, send data, and close."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from typing import TYPE_CHECKING

from tests.malleable.tasks import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Callable


class Connections:
    """Serves connections in a thread. Callbacks run with the lock held; `send` and `drop` need it, too."""

    def __init__(
        self,
        lock: threading.Condition,
        opened: Callable[[object], None],
        received: Callable[[object, bytes], None],
        closed: Callable[[object], None],
    ) -> None:
        self._lock = lock
        self._opened, self._received, self._closed = opened, received, closed
        self._sockets: dict[object, socket.socket] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self) -> str:
        """The address to connect to."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def send(self, key: object, data: bytes) -> None:
        """Send to a connection; reading detects one that has gone."""
        with contextlib.suppress(KeyError, OSError):
            self._sockets[key].sendall(data)

    def forget(self, key: object) -> None:
        """Close a connection without a callback."""
        connection = self._sockets.pop(key, None)
        if connection is not None:
            self._selector.unregister(connection)
            connection.close()

    def drop(self, key: object) -> None:
        """Close a connection as if its other end had closed it."""
        self.forget(key)
        self._closed(key)

    def close(self) -> None:
        """End the thread, and all connections."""
        self._wake.close()
        self._thread.join(DEADLINE)
        with self._lock:
            for connection in (self._listener, self._woken, *self._sockets.values()):
                connection.close()
            self._sockets.clear()
            self._selector.close()

    def _serve(self) -> None:
        for connection in (self._listener, self._woken):
            self._selector.register(connection, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    return
                assert isinstance(key.fileobj, socket.socket)
                with self._lock:
                    self._readable(key.fileobj)

    def _readable(self, connection: socket.socket) -> None:
        if connection is self._listener:
            taken, _ = self._listener.accept()
            self._sockets[id(taken)] = taken
            self._selector.register(taken, selectors.EVENT_READ)
            self._opened(id(taken))
            return
        try:
            data = connection.recv(65536)
        except OSError:
            data = b""
        if data:
            self._received(id(connection), data)
        else:
            self.drop(id(connection))
