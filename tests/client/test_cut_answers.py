"""Answers that end at any byte: the client sends the request again, and has each byte of a stream once."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from minicluster.client import Client
from minicluster.client.errors import ServerAway
from minicluster.client.retries import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client.conftest import Clock

BODY = json.dumps({"id": "ƒ1", "number": "15"}).encode()
ANSWER = (
    b"HTTP/1.1 201 Created\r\ndate: today\r\ncontent-length: %d\r\ncontent-type: application/json\r\n"
    b"connection: close\r\n\r\n%s" % (len(BODY), BODY)
)
REFUSAL = ANSWER.replace(b"201 Created", b"409 Conflict")
EVENTS = [
    b'event: stdout\ndata: {"task":0,"text":"a"}\n\nevent: stdout\ndata: {"task":1,"text":"b"}\nid: 0\n\n',
    b'event: stderr\ndata: {"task":0,"base64":"/w=="}\nid: 1\n\n',
    b'event: end\ndata: {"state":"inactive","result":"completed","returncode":0}\nid: end\n\n',
]


def streamed(*events: bytes) -> bytes:
    """Return an answer whose chunks are events."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in events) + b"0\r\n\r\n"


class CutServer:
    """Gives the first bytes of an answer to every other request, and to those between all of it."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = {b"": answers[0], **{b"%d" % at: each for at, each in enumerate(answers[1:])}}
        """By the last event's id that the client states."""
        self.size: int | None = None
        """Bytes of the next answer alone."""
        self.requests = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), client:
                head, body = client.recv(1 << 16).split(b"\r\n\r\n", 1)
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
                while len(body) < int(fields.get(b"content-length", 0)):
                    body += client.recv(1 << 16)
                self.requests += 1
                size, self.size = self.size, None
                client.sendall(self.answers[fields.get(b"last-event-id", b"")][:size])
                client.shutdown(socket.SHUT_WR)
                client.recv(1)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextlib.contextmanager
def serving(*answers: bytes) -> Iterator[CutServer]:
    server = CutServer(*answers)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


def test_an_answer_that_ends_at_any_byte_is_asked_for_again(clock: Clock) -> None:
    with serving(ANSWER) as server:
        for server.size in range(len(ANSWER)):
            with Client(server.url, "t", timing=clock.timing) as client:
                assert client.submit("mc", ["true"]).id == "ƒ1"
        assert server.requests == 2 * len(ANSWER)


def test_a_stream_that_ends_at_any_byte_is_read_once(clock: Clock) -> None:
    whole = streamed(*EVENTS)
    with serving(whole, streamed(*EVENTS[1:]), streamed(EVENTS[2])) as server:
        for server.size in range(len(whole) - len(b"0\r\n\r\n")):
            with Client(server.url, "t", timing=clock.timing) as client:
                output = client.job("mc", "7").output()
                assert [(each.task, each.data) for each in output] == [(0, b"a"), (1, b"b"), (0, b"\xff")]


@pytest.mark.parametrize(
    "size", [pytest.param(len(b"HTTP/1.1 409 C"), id="status"), pytest.param(60, id="fields")]
)
def test_a_refusal_that_is_cut_is_not_taken_for_another_one(clock: Clock, size: int) -> None:
    """Without its body it has no reason: here that the first attempt is under way."""
    with serving(ANSWER) as server:
        server.answers[b""], server.size = REFUSAL, size
        retry = RetryPolicy(seconds=0.0)
        with Client(server.url, "t", timing=clock.timing, retry=retry) as client, pytest.raises(ServerAway):
            client.submit("mc", ["true"])
        assert server.requests == 1
