"""How many may knock at a time, and for how long: slow or many clients must not keep others out.

A connection is a stranger until it has shown the token. When there are too many, the stranger who has been
here longest is sent away for the next one; where there is none, the oldest of the others.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

MOST = 64
"""Connections at a time: a thread each, of which a waiting one costs some 60 kB."""
UNPROVEN_TIME = 10.0
"""Seconds in which a client has to shake hands and send its first request."""
LINGER = 0.5
"""Seconds for what a client still sends that was turned away."""


class Connection:
    """One client; `unproven_since` is None once it showed the token.

    With `unread` not all that it sent was read.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.unproven_since: float | None = time.monotonic()
        self.unread = False

    def hang_up(self) -> None:
        """End it, also from outside its thread, which notices at once."""
        with contextlib.suppress(OSError):
            # SSLSocket's own shutdown would have the thread go on in plain text.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it, in its own thread."""
        with contextlib.suppress(OSError):
            if self.unread:
                self._linger()
        self.hang_up()
        self.socket.close()

    def _linger(self) -> None:
        """Read what is on its way: a close would reset the connection, and the answer be lost with it."""
        socket.socket.shutdown(self.socket, socket.SHUT_WR)
        self.socket.settimeout(LINGER)
        for _ in range(64):
            if not socket.socket.recv(self.socket, 1 << 14):
                return


class Connections:
    """All of them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._none = threading.Condition(self._lock)
        self._open: list[Connection] = []  # the oldest first

    def admit(self, sock: socket.socket) -> Connection:
        """Return the new connection, for which there is always room."""
        with self._lock:
            if len(self._open) >= self._most:
                unproven = (each for each in self._open if each.unproven_since is not None)
                oldest = next(unproven, self._open[0])
                self._open.remove(oldest)
                oldest.hang_up()
            connection = Connection(sock)
            self._open.append(connection)
            return connection

    def leave(self, connection: Connection) -> None:
        """It ended."""
        with self._lock:
            if connection in self._open:
                self._open.remove(connection)
            if not self._open:
                self._none.notify_all()

    def wait(self, timeout: float) -> None:
        """Return when there is none left, or after `timeout` seconds."""
        with self._lock:
            self._none.wait_for(lambda: not self._open, timeout)

    def expire(self) -> None:
        """Send away strangers who take too long."""
        limit = time.monotonic() - UNPROVEN_TIME
        with self._lock:
            for each in self._open:
                if each.unproven_since is not None and each.unproven_since < limit:
                    each.hang_up()

    def hang_up_all(self) -> None:
        """End every connection."""
        with self._lock:
            for each in self._open:
                each.hang_up()
