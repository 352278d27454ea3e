"""The cheapest way for Python to send many requests to an API server: raw HTTP over kept TLS connections."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.devcluster import Access

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
BARE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
SECONDS = 60.0
T = TypeVar("T")


def request(method: str, path: str, body: bytes = b"", content: str = JSON, accept: str = JSON) -> bytes:
    """Return a whole request as it goes over the wire."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: api\r\nUser-Agent: minicluster-benchmark\r\n"
        f"Accept: {accept}\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection:
    """One connection that is kept. Used by one thread."""

    def __init__(self, access: Access) -> None:
        url = urlsplit(access.url)
        plain = socket.create_connection((url.hostname, url.port), SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = access.tls().wrap_socket(plain, server_hostname=url.hostname)
        self._answers = self._socket.makefile("rb", buffering=65536)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def exchange(self, data: bytes) -> bytes:
        """Send a request and return the answer's body; anything but success ends the program."""
        self._socket.sendall(data)
        status = int(self._answers.readline().split(b" ", 2)[1])
        body = self._body()
        if status >= 300:
            raise SystemExit(f"{data.splitlines()[0].decode()}: {status} {body[:500].decode()}")
        return body

    def _body(self) -> bytes:
        length = 0
        chunked = False
        while (line := self._answers.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line[15:])
            chunked = chunked or line == b"transfer-encoding: chunked"
        return self._chunks() if chunked else self._answers.read(length)

    def _chunks(self) -> bytes:
        whole = b""
        while size := int(self._answers.readline().split(b";")[0], 16):
            whole += self._answers.read(size)
            self._answers.readline()
        self._answers.readline()
        return whole


class Pool:
    """Threads with a connection each, which take work from one queue."""

    def __init__(self, access: Access, size: int) -> None:
        self._connections = [Connection(access) for _ in range(size)]
        for each in self._connections:
            each.exchange(request("GET", "/readyz"))

    def run(self, work: Sequence[T], do: Callable[[Connection, T], None]) -> None:
        """Do all the work, in its order; returns when everything is done. A failure ends the program."""
        waiting = iter(work)
        turn = threading.Lock()
        failures: list[BaseException] = []

        def loop(connection: Connection) -> None:
            try:
                while not failures:
                    with turn:
                        item = next(waiting, None)
                    if item is None:
                        return
                    do(connection, item)
            except BaseException as error:  # noqa: BLE001  # raised below, by the thread that waits
                failures.append(error)

        threads = [threading.Thread(target=loop, args=[each]) for each in self._connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
