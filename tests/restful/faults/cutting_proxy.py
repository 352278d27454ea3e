"""A proxy on loopback that cuts connections where it is asked to.

It takes a request as a whole, and the answer as a whole, and passes on so much of them as it is to; so a cut
is at that byte however fast either side is. It serves one request a connection.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from random import Random

SECONDS = 240.0
HEAD_END = b"\r\n\r\n"


class Part(Enum):
    """Where a connection is cut."""

    CONNECTION = "before the first byte"
    REQUEST_HEAD = "inside the request's head"
    REQUEST_BETWEEN = "between the request's head and body"
    REQUEST_BODY = "inside the request's body"
    AFTER_REQUEST = "after the request"
    ANSWER_HEAD = "inside the answer's head"
    ANSWER_BETWEEN = "between the answer's head and body"
    ANSWER_BODY = "inside the answer's body"


class Cut(NamedTuple):
    """One cut."""

    part: Part
    chance: float
    """From 0 to 1: which byte of the part."""
    reset: bool = False
    """Whether the client sees a reset rather than an end."""

    @classmethod
    def by_chance(cls, part: Part, numbers: Random) -> Cut:
        """Return a cut in a part."""
        return cls(part, numbers.random(), numbers.random() < 0.5)

    def of_request(self, data: bytes) -> int | None:
        """Return how many bytes of a request go to the service; None: all of it."""
        head = data.index(HEAD_END) + len(HEAD_END)
        match self.part:
            case Part.CONNECTION:
                return 0
            case Part.REQUEST_HEAD:
                return 1 + int(self.chance * (head - 2))
            case Part.REQUEST_BETWEEN:
                return head
            case Part.REQUEST_BODY:
                return head + int(self.chance * (len(data) - head))
        return None

    def of_answer(self, data: bytes) -> int | None:
        """Return how many bytes of an answer go to the client; None: all of it."""
        head = data.index(HEAD_END) + len(HEAD_END)
        match self.part:
            case Part.AFTER_REQUEST:
                return 0
            case Part.ANSWER_HEAD:
                return 1 + int(self.chance * (head - 2))
            case Part.ANSWER_BETWEEN:
                return head
            case Part.ANSWER_BODY:
                return head + int(self.chance * (len(data) - head))
        return None


@dataclass
class CuttingProxy:
    """The proxy. Each connection takes the next of `cuts`; without any it passes everything on."""

    target: tuple[str, int]
    cuts: deque[Cut] = field(default_factory=deque)
    made: list[Part] = field(default_factory=list)
    """The cuts that were made."""
    _server: socket.socket = field(init=False)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, name="cutting proxy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for each in self._threads:
            each.join(SECONDS)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            cut = self.cuts.popleft() if self.cuts else None
            thread = threading.Thread(target=self._serve, args=(client, cut), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _serve(self, client: socket.socket, cut: Cut | None) -> None:
        client.settimeout(SECONDS)
        with contextlib.closing(client), contextlib.suppress(OSError, ValueError):
            request = one_message(client)
            try:
                answer = self._answer(request, cut)
            except (OSError, ValueError):  # the service has died: that was no cut of ours
                self.cuts.extendleft([cut] if cut is not None else [])
                return
            size = cut.of_answer(answer) if cut is not None and answer else None
            client.sendall(answer[:size])
            if cut is not None and (size is not None or not answer):
                self.made.append(cut.part)
                _hang_up(client, reset=cut.reset)

    def _answer(self, request: bytes, cut: Cut | None) -> bytes:
        """Return the service's answer, with `Connection: close`; empty where the request was cut."""
        size = cut.of_request(request) if cut is not None else None
        with socket.create_connection(self.target, SECONDS) as service:
            service.sendall(request[:size])
            if size is not None:
                service.shutdown(socket.SHUT_WR)
                while service.recv(1 << 16):
                    pass
                return b""
            return closing(one_message(service))


def one_message(sock: socket.socket) -> bytes:
    """Return a request or an answer with its body. Raises ValueError where the other side ended before."""
    data = b""
    while HEAD_END not in data:
        data += _received(sock)
    head, _, body = data.partition(HEAD_END)
    length = next(
        (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += _received(sock)
    return head + HEAD_END + body


def closing(answer: bytes) -> bytes:
    """Return an answer after which the client makes a new connection."""
    head, _, body = answer.partition(HEAD_END)
    return head + b"\r\nConnection: close" + HEAD_END + body


def _received(sock: socket.socket) -> bytes:
    found = sock.recv(1 << 16)
    if not found:
        raise ValueError("the other side has hung up")
    return found


def _hang_up(client: socket.socket, *, reset: bool) -> None:
    if reset:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
