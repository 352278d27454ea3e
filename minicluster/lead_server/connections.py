"""Limits on the number and duration of connections: slow or many clients must not keep others out.

A connection is unproven until its client has shown a token. When there are MAX_CONNECTIONS, a new one
replaces the oldest unproven one. If all are proven, it replaces the oldest reader of metrics, or else the
oldest. When there are MAX_READERS, a new reader replaces the oldest one: they never replace the operator.

A connection that was upgraded is none of these. Nothing replaces it; a new one is refused when there are
MAX_UPGRADED.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

MAX_CONNECTIONS = 64
"""Connections at a time. Each has a thread; a waiting one costs some 60 kB."""
MAX_READERS = 48
"""Connections at a time of those who may read metrics and nothing else. The rest is for the operator, the API
server, and clients that are about to show a token."""
MAX_UPGRADED = 8
"""Upgraded connections at a time: a few replicas of one service, and as many that are about to end."""
UNPROVEN_TIME = 10.0
"""Seconds in which a client has to shake hands and send its first request."""
LINGER = 0.5
"""Seconds for which the rest of a rejected client's request is read."""


class Connection:
    """The connection of one client."""

    def __init__(self, sock: socket.socket, connections: Connections) -> None:
        self.socket = sock
        self._connections = connections
        self.unproven_since: float | None = time.monotonic()
        """None once the client has shown a token."""
        self.is_reader = False
        """Whether the client has shown no more than that it may read metrics."""
        self.unread = False
        """Whether some of what the client sent was not read."""

    def prove(self, *, is_reader: bool) -> None:
        """Note that the client has shown who it is: one who may read metrics alone, or another."""
        self._connections.prove(self, is_reader)

    def upgrade(self) -> bool:
        """Note that another protocol begins; return False if there are too many such connections."""
        return self._connections.upgrade(self)

    def hang_up(self) -> None:
        """End it. May be called from another thread; the connection's own thread notices at once."""
        with contextlib.suppress(OSError):
            # SSLSocket's own shutdown would have the thread go on in plain text.
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it. Only the connection's own thread may call this."""
        with contextlib.suppress(OSError):
            if self.unread:
                self._linger()
        self.hang_up()
        self.socket.close()

    def _linger(self) -> None:
        """Read what is on its way: closing before would reset the connection and lose the answer."""
        socket.socket.shutdown(self.socket, socket.SHUT_WR)
        self.socket.settimeout(LINGER)
        for _ in range(64):
            if not socket.socket.recv(self.socket, 1 << 14):
                return


class Connections:
    """All open connections of the server."""

    def __init__(
        self,
        most: int = MAX_CONNECTIONS,
        most_readers: int = MAX_READERS,
        most_upgraded: int = MAX_UPGRADED,
    ) -> None:
        self._most = most
        self._most_readers = most_readers
        self._most_upgraded = most_upgraded
        self._lock = threading.Lock()
        self._none = threading.Condition(self._lock)
        self._open: list[Connection] = []  # the oldest first
        self._upgraded: list[Connection] = []

    def admit(self, sock: socket.socket) -> Connection:
        """Add a connection and return it. If there are too many, end an older one."""
        with self._lock:
            if len(self._open) >= self._most:
                unproven = [each for each in self._open if each.unproven_since is not None]
                readers = [each for each in self._open if each.is_reader]
                self._replace((unproven or readers or self._open)[0])
            connection = Connection(sock, self)
            self._open.append(connection)
            return connection

    def prove(self, connection: Connection, is_reader: bool) -> None:
        """Note who the client of a connection is. If there are too many readers, end an older one."""
        with self._lock:
            connection.unproven_since = None
            connection.is_reader = is_reader
            readers = [each for each in self._open if each.is_reader and each is not connection]
            if is_reader and len(readers) >= self._most_readers:
                self._replace(readers[0])

    def upgrade(self, connection: Connection) -> bool:
        """Count a connection no more among those that others replace; return False if it is one too many."""
        with self._lock:
            if connection not in self._open or len(self._upgraded) >= self._most_upgraded:
                return False
            self._open.remove(connection)
            self._upgraded.append(connection)
            return True

    def _replace(self, oldest: Connection) -> None:
        self._open.remove(oldest)
        oldest.hang_up()

    def leave(self, connection: Connection) -> None:
        """Remove a connection that ended."""
        with self._lock:
            for each in (self._open, self._upgraded):
                if connection in each:
                    each.remove(connection)
            if not (self._open or self._upgraded):
                self._none.notify_all()

    def wait(self, timeout: float) -> None:
        """Wait until no connection is open, at most `timeout` seconds."""
        with self._lock:
            self._none.wait_for(lambda: not (self._open or self._upgraded), timeout)

    def expire(self) -> None:
        """End connections that have been unproven for more than UNPROVEN_TIME."""
        limit = time.monotonic() - UNPROVEN_TIME
        with self._lock:
            for each in self._open:
                if each.unproven_since is not None and each.unproven_since < limit:
                    each.hang_up()

    def hang_up_all(self) -> None:
        """End every connection."""
        with self._lock:
            for each in (*self._open, *self._upgraded):
                each.hang_up()
