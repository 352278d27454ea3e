"""One connection to the instance, for a program or a joining worker: lines as messages, with time limits."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from minicluster.malleable import messages
from minicluster.malleable.credentials import VERSION, proof
from minicluster.malleable.errors import ProtocolError, Rejected
from minicluster.malleable.lines import Lines

if TYPE_CHECKING:
    from minicluster.malleable.credentials import Credentials
    from minicluster.malleable.messages import ToInstance, ToProgram

_ANSWER_LIMIT = 16 << 20  # bytes of a line from the instance, which may list thousands of workers
_READ = 65536


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of "host:port" or "[host]:port". Raises Rejected."""
    host, found, port = address.rpartition(":")
    if not found or not port.isdigit():
        raise Rejected(f"not host:port: {address!r}")
    return host.strip("[]"), int(port)


class Link:
    """A connection over which the instance's nonce came. One thread at a time may read, any may send.

    Raises OSError where the instance cannot be reached, and Rejected where it speaks another protocol.
    """

    def __init__(self, credentials: Credentials, timeout: float) -> None:
        self._credentials = credentials
        self._lines = Lines(_ANSWER_LIMIT)
        self._waiting: deque[ToProgram] = deque()
        self._sending = threading.Lock()
        self._socket = socket.create_connection(split_address(credentials.address), timeout=timeout)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._nonce = self._greeted(timeout)
        except BaseException:
            self.close()
            raise

    def _greeted(self, timeout: float) -> str:
        hello = self.receive(timeout)
        if isinstance(hello, messages.Hello) and hello.version == VERSION:
            return hello.nonce
        raise Rejected(f"{self._credentials.address} does not speak version {VERSION} of the protocol")

    def register(self, timeout: float) -> messages.Registered:
        """Register as the job's program, and return the instance's answer. Raises Rejected."""
        job = self._credentials.job
        mac = proof(self._credentials.token, self._nonce, "register", job)
        self.send(messages.Register(VERSION, job, mac))
        answer = self.receive(timeout)
        if not isinstance(answer, messages.Registered):
            why = answer.reason if isinstance(answer, messages.Error) else "no answer to its registration"
            raise Rejected(f"{job}: {why}")
        return answer

    def join(self, task: int, order: int, address: str) -> None:
        """Send that this worker has started."""
        job = self._credentials.job
        mac = proof(self._credentials.token, self._nonce, "join", job, task, order, address)
        self.send(messages.Join(VERSION, job, mac, task, order, address))

    def send(self, message: ToInstance) -> None:
        """Send a message. Raises OSError."""
        with self._sending:
            self._socket.sendall(messages.encode(message))

    def receive(self, timeout: float | None) -> ToProgram | None:
        """Return the next message; None when `timeout` seconds passed without one (None: wait for ever).

        Raises ConnectionError when the instance has closed the connection.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self._waiting:
            left = None if end is None else max(0.0, end - time.monotonic())
            if not self._readable(left):
                return None
            data = self._socket.recv(_READ)
            if not data:
                raise ConnectionResetError("the instance has hung up")
            self._take(data)
        return self._waiting.popleft()

    def _readable(self, seconds: float | None) -> bool:
        """Wait for data. The socket has no timeout of its own, which would also limit threads that send."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))

    def _take(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if line is None:
                raise ConnectionResetError("the instance sent a line without end")
            try:
                self._waiting.append(messages.parse_to_program(line))
            except ProtocolError as error:
                raise Rejected(f"{self._credentials.address}: {error}") from None

    def close(self) -> None:
        """Close the connection; a thread that reads wakes."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
