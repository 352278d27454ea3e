"""The client of a broker's UNIX socket: synchronous, standard library only, quick to import.

Frame: 4 bytes big-endian length, then one JSON object. One connection carries many numbered requests at once.
A call that waits for its own answer passes the answers of other requests to their callbacks meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Self

from minicluster.embedded.errors import BrokerUnreachable, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    # Receives each response: a payload, or the refusal that ends the request (ENODATA: end of stream).
    AnswerCallback = Callable[["JSON | None", RpcError | None], None]

__all__ = ["JSON", "BrokerClient", "RpcError"]
JSON = dict[str, Any]
_DEFAULT_URI = "local:///run/flux/local"
_CHUNK = 1 << 18


def readable(descriptors: Iterable[int], timeout: float | None) -> set[int]:
    """Wait until some can be read, or for seconds, and return these; `select` knows none above 1023."""
    poll = select.poll()
    for each in descriptors:
        poll.register(each, select.POLLIN)
    return {found for found, _ in poll.poll(None if timeout is None else timeout * 1000)}


class BrokerClient:
    """A connection to the broker of `uri`, by default of $FLUX_URI. Raises BrokerUnreachable."""

    def __init__(self, uri: str | None = None) -> None:
        self._socket = _connected(uri or os.environ.get("FLUX_URI") or _DEFAULT_URI)
        self._callbacks: dict[int, AnswerCallback] = {}
        self._streams: set[int] = set()
        self._number = 0
        self._unread = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Return the socket's descriptor, for `readable`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection; requests under way end without an answer."""
        self._callbacks.clear()
        self._socket.close()

    @property
    def outstanding(self) -> int:
        """The number of requests under way."""
        return len(self._callbacks)

    def call(
        self, topic: str, payload: JSON | None, callback: AnswerCallback, *, streaming: bool = False
    ) -> int:
        """Send a request and return its number.

        `callback` receives the answer, or every response of a stream, while `dispatch`, `rpc` or `stream`
        runs.
        """
        self._number += 1
        self._callbacks[self._number] = callback
        if streaming:
            self._streams.add(self._number)
        self._send({"id": self._number, "topic": topic, "payload": payload or {}})
        return self._number

    def cancel(self, number: int) -> None:
        """Cancel request `number`; its callback is not called any more."""
        if self._callbacks.pop(number, None) is not None:
            self._streams.discard(number)
            self._send({"id": number, "cancel": True})

    def rpc(self, topic: str, payload: JSON | None = None, timeout: float | None = None) -> JSON:
        """Return the payload of the answer. Raises RpcError; ETIMEDOUT after `timeout` seconds."""
        answers: list[tuple[JSON | None, RpcError | None]] = []
        number = self.call(topic, payload, lambda *answer: answers.append(answer))
        deadline = None if timeout is None else time.monotonic() + timeout
        while not answers:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self.dispatch(left):
                self.cancel(number)
                raise RpcError(errno.ETIMEDOUT)
        given, refusal = answers[0]
        if refusal is not None:
            raise refusal
        return given or {}

    def stream(self, topic: str, payload: JSON | None = None) -> Iterator[JSON]:
        """Send a request and yield its responses until ENODATA. Closing the iterator cancels it."""
        arrived: deque[tuple[JSON | None, RpcError | None]] = deque()
        number = self.call(topic, payload, lambda *response: arrived.append(response), streaming=True)
        try:
            while True:
                while not arrived:
                    self.dispatch()
                given, refusal = arrived.popleft()
                if given is not None:
                    yield given
                elif refusal is not None and refusal.errnum != errno.ENODATA:
                    raise refusal
                else:
                    return
        finally:
            self.cancel(number)

    def dispatch(self, timeout: float | None = None) -> bool:
        """Wait for responses and pass them to their callbacks; return False where none came in time."""
        if timeout is not None and not readable((self.fileno(),), timeout):
            return False
        try:
            arrived = self._socket.recv(_CHUNK)
        except ConnectionError:
            arrived = b""
        if not arrived:
            raise RpcError(errno.ECONNRESET, "the broker closed the connection")
        self._unread += arrived
        for message in self._messages():
            self._hand_out(message)
        return True

    def _messages(self) -> list[JSON]:
        """Take every whole frame out of what was read."""
        start, messages, unread = 0, [], self._unread
        while len(unread) - start >= 4:
            end = start + 4 + int.from_bytes(unread[start : start + 4], "big")
            if len(unread) < end:
                break
            messages.append(json.loads(unread[start + 4 : end].decode()))
            start = end
        del unread[:start]
        return messages

    def _hand_out(self, message: JSON) -> None:
        number, refused = message["id"], "errnum" in message
        callback = self._callbacks.get(number)
        if callback is None:
            return  # cancelled meanwhile
        if refused or number not in self._streams:
            del self._callbacks[number]
            self._streams.discard(number)
        if refused:
            callback(None, RpcError(message["errnum"], message.get("errstr", "")))
        else:
            callback(message["payload"], None)

    def _send(self, message: JSON) -> None:
        body = json.dumps(message, separators=(",", ":")).encode()
        try:
            self._socket.sendall(len(body).to_bytes(4, "big") + body)
        except ConnectionError as error:
            raise RpcError(errno.ECONNRESET, "the broker closed the connection") from error


def _connected(uri: str) -> socket.socket:
    scheme, separator, path = uri.partition("://")
    if not separator or scheme != "local":
        raise BrokerUnreachable(f"Unable to connect to Flux: {uri}: a URI of the form local://PATH is right")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(os.fsencode(path))
    except FileNotFoundError:
        problem = "was not found"
    except OSError as error:
        problem = f"cannot be used: {error.strerror or error}"
    else:
        return connection
    connection.close()
    raise BrokerUnreachable(f"Unable to connect to Flux: broker socket {path} {problem}")
