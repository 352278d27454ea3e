"""The embedded instance, over its broker's UNIX socket: a connection for every stream and every call."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from minicluster.embedded.client import Client
from minicluster.embedded.errors import BrokerUnreachable, RpcError
from minicluster.instance.errors import InstanceError, InstanceGone, RequestRefused, WaitTimeout

if TYPE_CHECKING:
    from types import TracebackType

JSON = Mapping[str, Any]


class EmbeddedTransport:
    """Connections to one broker, made as they are needed and used again."""

    engine = "embedded"
    shares_surroundings = True

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._idle: deque[Client] = deque()
        self._streams: set[SocketStream] = set()
        self._closed = False
        self._idle.append(self.connection())

    def connection(self) -> Client:
        """Return an idle connection, or a new one."""
        if self._closed:
            raise InstanceGone(f"{self.uri}: this connection was closed")
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        try:
            return Client(self.uri)
        except BrokerUnreachable as error:
            raise InstanceGone(str(error)) from error

    def call(self, topic: str, payload: JSON, *, timeout: float | None = None) -> JSON:
        """Ask for one answer."""
        client = self.connection()
        try:
            answer = client.rpc(topic, dict(payload), timeout)
        except RpcError as error:
            if error.errnum == errno.ECONNRESET:
                client.close()
            else:
                self._release(client)
            raise self.failure(topic, error, timeout) from error
        self._release(client)
        return answer

    def _release(self, client: Client) -> None:
        if self._closed:
            client.close()
        else:
            self._idle.append(client)

    def failure(self, topic: str, error: RpcError, timeout: float | None = None) -> InstanceError:
        """Return our error for the broker's."""
        if error.errnum == errno.ECONNRESET:
            return InstanceGone(f"{self.uri}: the broker ended the connection")
        if error.errnum == errno.ETIMEDOUT and timeout is not None:
            return WaitTimeout(f"{topic}: no answer in {timeout:g} s")
        return RequestRefused(topic, error.errnum, error.text)

    def stream(self, topic: str, payload: JSON) -> SocketStream:
        """Ask for many answers."""
        stream = SocketStream(self, topic, payload)
        self._streams.add(stream)
        return stream

    def ended(self, stream: SocketStream) -> None:
        """Forget a stream."""
        self._streams.discard(stream)

    def submit(self, jobspec: JSON, urgency: int, flags: int) -> int:
        """Submit a jobspec; nothing is signed, the socket admits its owner only."""
        request = {"jobspec": dict(jobspec), "urgency": urgency, "flags": flags}
        return int(self.call("job-ingest.submit", request)["id"])

    def dump(self, path: str) -> None:
        """Save the instance's data."""
        self.call("content.dump", {"path": path})

    def close(self) -> None:
        """Hang up."""
        self._closed = True
        for stream in tuple(self._streams):
            stream.close()
        while self._idle:
            self._idle.pop().close()


class SocketStream:
    """The answers to one streaming request, on a connection of its own."""

    def __init__(self, transport: EmbeddedTransport, topic: str, payload: JSON) -> None:
        self._transport = transport
        self._topic = topic
        self._arrived: deque[tuple[JSON | None, RpcError | None]] = deque()
        self._lock = threading.Lock()
        self._ended = False
        self._client = transport.connection()
        try:
            self._client.call(topic, dict(payload), self._take, streaming=True)
        except RpcError as error:
            self._client.close()
            raise transport.failure(topic, error) from error

    def _take(self, payload: JSON | None, refusal: RpcError | None) -> None:
        self._arrived.append((payload, refusal))

    def __iter__(self) -> Iterator[JSON]:
        return self

    def __next__(self) -> JSON:
        if self._ended:
            raise StopIteration
        while not self._arrived:
            self._wait()
        payload, refusal = self._arrived.popleft()
        if payload is not None:
            return payload
        self._finish()
        if refusal is None or refusal.errnum == errno.ENODATA:
            raise StopIteration
        raise self._transport.failure(self._topic, refusal)

    def _wait(self) -> None:
        try:
            self._client.dispatch()
        except (OSError, ValueError) as error:  # closed by another thread
            self._arrived.append((None, RpcError(errno.ENODATA, str(error))))
        except RpcError as error:
            code = errno.ENODATA if self._ended else error.errnum
            self._arrived.append((None, RpcError(code, error.text)))

    def _finish(self) -> None:
        with self._lock:
            self._ended = True
            self._client.close()
        self._transport.ended(self)

    def close(self) -> None:
        """End the request; a reader that waits in another thread comes to its end."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._client.fileno())) as twin:
                twin.shutdown(socket.SHUT_RDWR)  # wakes the reader, which closing alone does not
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
