"""The HTTPS server by itself: what is answered, and what is refused."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from minicluster.lead_server import http_input
from tests.lead.client import DEADLINE
from tests.lead.server.served import Served, talk

if TYPE_CHECKING:
    from minicluster.lead_server.server import Server
    from tests.lead.client import Client


def test_a_request_with_everything(lead_api: Client, served: Served) -> None:
    """Query and body reach the operation, its answer comes back as JSON."""
    answer = lead_api.ask("POST", "/echo?a=1&b=x%20y", {"ranks": "2-3"})
    assert answer == (200, {"query": {"a": "1", "b": "x y"}, "body": {"ranks": "2-3"}})


@pytest.mark.parametrize(
    ("method", "path", "code", "answer"),
    [
        pytest.param("GET", "/", 404, {"error": "there is nothing at this path"}, id="path"),
        pytest.param("GET", "/echo/", 404, {"error": "there is nothing at this path"}, id="deeper"),
        pytest.param("PUT", "/echo", 405, {"error": "only GET, POST is right here"}, id="method"),
        pytest.param("BREW", "/lines", 405, {"error": "only GET is right here"}, id="no method"),
        pytest.param("GET", "/fail?how=refused", 502, {"error": "no"}, id="refused"),
        pytest.param("GET", "/fail?how=gone", 503, {"error": "away"}, id="gone"),
        pytest.param("GET", "/fail?how=bad", 400, {"error": "what?"}, id="bad"),
    ],
)
def test_refusals(lead_api: Client, method: str, path: str, code: int, answer: object) -> None:
    """Each says what is wrong."""
    assert lead_api.ask(method, path) == (code, answer)


FAILED = [
    pytest.param("os", "FileNotFoundError: [Errno 2] No such file or directory: '/notes'", id="system call"),
    pytest.param("defect", "ZeroDivisionError: a defect", id="defect"),
]


@pytest.mark.parametrize(("how", "text"), FAILED)
def test_an_operation_that_fails_is_answered_and_logged(
    lead_api: Client, served: Served, running: Server, how: str, text: str
) -> None:
    """Only an error of the client's own connection is nobody's business. The next client is answered."""
    assert lead_api.ask("GET", f"/fail?how={how}") == (500, {"error": text})
    assert lead_api.ask("GET", "/echo")[0] == 200
    running.connections.wait(DEADLINE)
    assert served.log == [f"a client's request failed: {text}"]


def test_a_stream_that_fails_has_no_end_and_is_logged(
    lead_api: Client, served: Served, running: Server
) -> None:
    """It ends its own connection only."""
    head = f"GET /breaks HTTP/1.1\r\nAuthorization: Bearer {lead_api.token}\r\n\r\n"
    assert talk(lead_api, head.encode()).endswith(b'{"number": 0}\n\r\n')
    assert lead_api.ask("GET", "/echo")[0] == 200
    running.connections.wait(DEADLINE)
    assert served.log == [f"a client's request failed: {FAILED[0].values[1]}"]


MANY = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 90) for number in range(300))


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        pytest.param(b"\r\n", b"", id="empty"),
        pytest.param(b"\x00\xff\x80\r\n\r\n", b"HTTP/1.1 400", id="bytes"),
        pytest.param(b"GET\r\n\r\n", b"HTTP/1.1 400", id="one word"),
        pytest.param(b"GET / HTTP/x\r\n\r\n", b"HTTP/1.1 400", id="version"),
        pytest.param(b"GET //[ HTTP/1.1\r\n\r\n", b"HTTP/1.1 40", id="path that is no address"),
        pytest.param(b"GET http://[/ HTTP/1.1\r\n\r\n", b"HTTP/1.1 400", id="address that is none"),
        pytest.param(b"GET / HTTP/3.0\r\n\r\n", b"HTTP/1.1 505", id="newer version"),
        pytest.param(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 431", id="long line"),
        pytest.param(b"GET / HTTP/1.1\r\n" + MANY + b"\r\n", b"HTTP/1.1 431", id="long head"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 500 + b"\r\n", b"HTTP/1.1 431", id="many headers"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 401", id="older version"),
    ],
)
def test_garbage(lead_api: Client, served: Served, data: bytes, begins: bytes) -> None:
    """Gets a status code or nothing, never words; the next client is served."""
    answer = talk(lead_api, data)
    assert answer[: len(begins)] == begins
    assert not begins or answer.endswith(b"\r\n\r\n")
    assert lead_api.ask("GET", "/echo")[0] == 200
    assert served.log == []


@pytest.mark.parametrize(
    ("headers", "body", "begins"),
    [
        pytest.param("Content-Length: 65537", b"", b"HTTP/1.1 413", id="too long"),
        pytest.param("Content-Length: " + "9" * 4000, b"", b"HTTP/1.1 413", id="far too long"),
        pytest.param("Content-Length: 0000000000999999999", b"", b"HTTP/1.1 413", id="zeros before"),
        pytest.param("Content-Length: -1", b"", b"HTTP/1.1 411", id="negative"),
        pytest.param("Content-Length: 1_0", b"", b"HTTP/1.1 411", id="no number"),
        pytest.param("Content-Length: 2\r\nContent-Length: 2", b"{}", b"HTTP/1.1 400", id="two lengths"),
        pytest.param("Content-Length: 2, 2", b"{}", b"HTTP/1.1 411", id="two lengths in one"),
        pytest.param(
            "Content-Length: 2\r\nTransfer-Encoding: chunked", b"{}", b"HTTP/1.1 400", id="length and chunks"
        ),
        pytest.param("Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n", b"HTTP/1.1 411", id="chunked"),
        pytest.param("Content-Length: 4", b"nope", b"HTTP/1.1 400", id="no json"),
        pytest.param("Content-Length: 60000", b"[" * 60000, b"HTTP/1.1 400", id="deep"),
        pytest.param("Content-Length: 2", b"\xff\xff", b"HTTP/1.1 400", id="no text"),
    ],
)
def test_bodies(lead_api: Client, headers: str, body: bytes, begins: bytes) -> None:
    """At most 64 KiB of JSON with a length."""
    given = f"Authorization: Bearer {lead_api.token}\r\n{headers}"
    head = f"POST /echo HTTP/1.1\r\nConnection: close\r\n{given}\r\n\r\n"
    assert talk(lead_api, head.encode() + body).startswith(begins)


BROKEN_OFF = [
    pytest.param(b"GET /echo", id="in the first line"),
    pytest.param(b"POST /echo HTTP/1.1\r\n%s", id="in the head"),
    pytest.param(b"POST /echo HTTP/1.1\r\n%s\r\nContent-Length: 2\r\n\r\n", id="before the body"),
    pytest.param(b"POST /echo HTTP/1.1\r\n%s\r\nContent-Length: 9\r\n\r\n{}", id="in the body"),
    pytest.param(b"GET /echo HTTP/1.1\r\nX: y\r\n", id="without a token"),
]


@pytest.mark.parametrize("data", BROKEN_OFF)
def test_a_request_that_breaks_off_is_not_carried_out(
    lead_api: Client, served: Served, running: Server, data: bytes
) -> None:
    """Nor is it logged: strangers would fill the log."""
    with lead_api.connection() as sock:
        sock.sendall(data.replace(b"%s", f"Authorization: Bearer {lead_api.token}".encode()))
        socket.socket.shutdown(sock, socket.SHUT_WR)  # without the end of TLS
    running.connections.wait(DEADLINE)
    assert (served.bodies, served.log) == ([], [])


def test_a_connection_serves_many_requests(lead_api: Client, running: Server) -> None:
    """One after another, failures among them."""
    with closing(lead_api.keep()) as connection:
        for path, code in [("/echo", 200), ("/nowhere", 404), ("/echo", 200)]:
            connection.request("GET", path, headers=lead_api.bearer)
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (code, True)
        sock = connection.sock
        connection.request("GET", "/echo", headers=lead_api.bearer)
        connection.getresponse().read()
        assert connection.sock is sock


def test_each_line_comes_when_it_is_there(lead_api: Client, served: Served) -> None:
    """And the last one is followed by the end of the response."""
    with closing(lead_api.keep()) as connection:
        connection.request("GET", "/lines", headers=lead_api.bearer)
        response = connection.getresponse()
        assert json.loads(response.readline()) == {"number": 0}
        served.more.set()
        assert response.read() == b'{"number": 1}\n{"number": 2}\n'


def test_no_body_for_a_head(lead_api: Client) -> None:
    """HTTP's rule, also where the path knows no HEAD."""
    data = f"HEAD /echo HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {lead_api.token}\r\n\r\n"
    head, _, body = talk(lead_api, data.encode()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405")
    assert b"Allow: GET, POST" in head
    assert body == b""


def test_the_limits_are_the_documented_ones() -> None:
    """16 KiB of head, 64 KiB of body."""
    assert (http_input.MAX_HEAD_BYTES, http_input.MAX_BODY_BYTES) == (16_384, 65_536)
