"""The HTTPS server by itself: who is let in, what is refused, and that nobody keeps others out."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_server import connections, files, http_input, server
from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.replies import Audience, Pieces, Text
from minicluster.lead_server.server import Server
from tests.lead.client import DEADLINE, Client, until
from tests.lead.keys import NAME, Authority
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Served:
    """What the routes of this test answer, and what they were asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.more = threading.Event()
        self.log: list[str] = []

    def echo(self, query: Any, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        return {"query": dict(query), "body": body}

    def lines(self, _query: Any, _body: Any) -> Iterator[dict[str, int]]:
        for number in range(3):
            yield {"number": number}
            assert self.more.wait(DEADLINE)

    def fail(self, query: Any, _body: Any) -> dict[str, Any]:
        raise {"refused": Refused(22, "no"), "gone": InstanceGone("away"), "bad": BadRequest("what?")}.get(
            query["how"], ZeroDivisionError("a defect")
        )

    def routes(self) -> dict[str, Any]:
        return {
            "/echo": {"GET": self.echo, "POST": self.echo},
            "/lines": {"GET": self.lines},
            "/fail": {"GET": self.fail},
            "/text": {"GET": lambda _query, _body: Text("plain\n", "text/plain", 503)},
            "/pieces": {
                "GET": lambda _query, _body: Pieces(iter(["data: 1\n\n", "data: 2\n\n"]), "text/event-stream")
            },
            "/health": {"GET": lambda _query, _body: Text("ok\n", "text/plain")},
        }

    audiences: ClassVar = {
        "/text": Audience.METRICS,
        "/pieces": Audience.METRICS,
        "/health": Audience.ALL,
    }


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, str, Path]:
    directory = tmp_path_factory.mktemp("secret")
    authority = Authority()
    return authority, authority.write(directory), directory


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.fixture
def running(keys: tuple[Authority, str, Path], served: Served) -> Iterator[Server]:
    _, _, directory = keys
    made = Server(0, files.Credentials(str(directory)), served.routes(), served.log.append, served.audiences)
    with serving(made):
        yield made


@pytest.fixture
def door(running: Server, keys: tuple[Authority, str, Path]) -> Client:
    authority, token, _ = keys
    return Client(running.port, authority.certificate, token)


def talk(client: Client, data: bytes) -> bytes:
    """Send bytes over TLS; what comes back until the server hangs up."""
    answer = b""
    with client.connection() as sock:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            sock.sendall(data)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while part := sock.recv(1 << 16):
                answer += part
    return answer


def test_a_request_with_everything(door: Client, served: Served) -> None:
    """Query and body reach the operation, its answer comes back as JSON."""
    answer = door.ask("POST", "/echo?a=1&b=x%20y", {"ranks": "2-3"})
    assert answer == (200, {"query": {"a": "1", "b": "x y"}, "body": {"ranks": "2-3"}})


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer"}, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, id="wrong token"),
        pytest.param({"Authorization": "Basic {token}"}, id="other scheme"),
        pytest.param({"Authorization": "{token}"}, id="no scheme"),
        pytest.param({"Authorization": "Bearer {token}x"}, id="longer"),
        pytest.param({"Authorization": "Bearer \u00e9"}, id="not ascii"),
    ],
)
@pytest.mark.parametrize("path", ["/echo", "/nowhere"])
def test_without_the_token(door: Client, served: Served, headers: dict[str, str], path: str) -> None:
    """401 and nothing else, whatever was asked for."""
    headers = {key: value.format(token=door.token) for key, value in headers.items()}
    assert door.ask("POST", path, {"ranks": "1"}, headers) == (401, None)
    assert served.bodies == []


def test_the_scheme_is_named(door: Client) -> None:
    """As HTTP wants it of a 401."""
    with closing(door.keep()) as connection:
        connection.request("GET", "/echo")
        response = connection.getresponse()
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.headers["Connection"] == "close"


def test_two_authorizations_are_none(door: Client) -> None:
    """A proxy might look at the other one."""
    header = f"Authorization: Bearer {door.token}\r\n"
    assert talk(door, f"GET /echo HTTP/1.1\r\n{header}{header}\r\n".encode()).startswith(b"HTTP/1.1 401")


def test_the_scheme_may_be_written_in_any_case(door: Client) -> None:
    """RFC 9110."""
    assert door.ask("GET", "/echo", headers={"Authorization": f"bearer  {door.token}"})[0] == 200


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"name": "other.door.minicluster"}, "Hostname mismatch", id="another MiniCluster's name"
        ),
        pytest.param(
            {"authority": Authority().certificate}, "signature failure|self-signed|unable to get", id="CA"
        ),
    ],
)
def test_a_client_tells_the_wrong_door(door: Client, change: dict[str, str], reason: str) -> None:
    """By its certificate."""
    other = Client(**{"port": door.port, "authority": door.authority, "token": door.token, **change})
    with pytest.raises(ssl.SSLCertVerificationError, match=reason):
        other.connection()


def test_old_tls_is_refused(door: Client) -> None:
    """1.2 is the oldest."""
    context = ssl.create_default_context(cadata=door.authority)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection(("127.0.0.1", door.port), DEADLINE) as plain,
        pytest.raises(OSError, match=r"alert|version|reset|EOF|closed"),
    ):
        context.wrap_socket(plain, server_hostname=NAME)


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
def test_refusals(door: Client, method: str, path: str, code: int, answer: object) -> None:
    """Each says what is wrong."""
    assert door.ask(method, path) == (code, answer)


def test_a_defect_ends_one_connection_only(door: Client, served: Served) -> None:
    """And is told in the log."""
    assert (
        talk(door, f"GET /fail?how=x HTTP/1.1\r\nAuthorization: Bearer {door.token}\r\n\r\n".encode()) == b""
    )
    assert door.ask("GET", "/echo")[0] == 200
    assert served.log == ["a client's request failed: ZeroDivisionError: a defect"]


MANY = b"".join(b"X-%d: %s\r\n" % (number, b"x" * 90) for number in range(300))


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        pytest.param(b"\r\n", b"", id="empty"),
        pytest.param(b"\x00\xff\x80\r\n\r\n", b"HTTP/1.1 400", id="bytes"),
        pytest.param(b"GET\r\n\r\n", b"HTTP/1.1 400", id="one word"),
        pytest.param(b"GET / HTTP/x\r\n\r\n", b"HTTP/1.1 400", id="version"),
        pytest.param(b"GET / HTTP/3.0\r\n\r\n", b"HTTP/1.1 505", id="newer version"),
        pytest.param(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 431", id="long line"),
        pytest.param(b"GET / HTTP/1.1\r\n" + MANY + b"\r\n", b"HTTP/1.1 431", id="long head"),
        pytest.param(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 500 + b"\r\n", b"HTTP/1.1 431", id="many headers"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 401", id="older version"),
    ],
)
def test_garbage(door: Client, served: Served, data: bytes, begins: bytes) -> None:
    """Gets a status code or nothing, never words; the next client is served."""
    answer = talk(door, data)
    assert answer[: len(begins)] == begins
    assert not begins or answer.endswith(b"\r\n\r\n")
    assert door.ask("GET", "/echo")[0] == 200
    assert served.log == []


@pytest.mark.parametrize(
    ("headers", "body", "begins"),
    [
        pytest.param("Content-Length: 65537", b"", b"HTTP/1.1 413", id="too long"),
        pytest.param("Content-Length: " + "9" * 4000, b"", b"HTTP/1.1 413", id="far too long"),
        pytest.param("Content-Length: 0000000000999999999", b"", b"HTTP/1.1 413", id="zeros before"),
        pytest.param("Content-Length: -1", b"", b"HTTP/1.1 411", id="negative"),
        pytest.param("Content-Length: 1_0", b"", b"HTTP/1.1 411", id="no number"),
        pytest.param("Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n", b"HTTP/1.1 411", id="chunked"),
        pytest.param("Content-Length: 4", b"nope", b"HTTP/1.1 400", id="no json"),
        pytest.param("Content-Length: 60000", b"[" * 60000, b"HTTP/1.1 400", id="deep"),
        pytest.param("Content-Length: 2", b"\xff\xff", b"HTTP/1.1 400", id="no text"),
    ],
)
def test_bodies(door: Client, headers: str, body: bytes, begins: bytes) -> None:
    """At most 64 KiB of JSON with a length."""
    head = (
        f"POST /echo HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {door.token}\r\n{headers}\r\n\r\n"
    )
    assert talk(door, head.encode() + body).startswith(begins)


def test_a_connection_serves_many_requests(door: Client, running: Server) -> None:
    """One after another, failures among them."""
    with closing(door.keep()) as connection:
        for path, code in [("/echo", 200), ("/nowhere", 404), ("/echo", 200)]:
            connection.request("GET", path, headers=door.bearer)
            response = connection.getresponse()
            assert (response.status, bool(response.read())) == (code, True)
        sock = connection.sock
        connection.request("GET", "/echo", headers=door.bearer)
        connection.getresponse().read()
        assert connection.sock is sock


def test_each_line_comes_when_it_is_there(door: Client, served: Served) -> None:
    """And the last one is followed by the end of the response."""
    with closing(door.keep()) as connection:
        connection.request("GET", "/lines", headers=door.bearer)
        response = connection.getresponse()
        assert json.loads(response.readline()) == {"number": 0}
        served.more.set()
        assert response.read() == b'{"number": 1}\n{"number": 2}\n'


def test_no_body_for_a_head(door: Client) -> None:
    """HTTP's rule, also where the path knows no HEAD."""
    data = f"HEAD /echo HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {door.token}\r\n\r\n"
    head, _, body = talk(door, data.encode()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 405")
    assert b"Allow: GET, POST" in head
    assert body == b""


@pytest.mark.parametrize("shaken", [True, False], ids=["after TLS", "before TLS"])
def test_200_slow_clients_keep_nobody_out(door: Client, shaken: bool, running: Server) -> None:
    """They are more than there are places; each new client gets one."""
    with ExitStack() as stack:
        for _ in range(200):
            sock = socket.create_connection(("127.0.0.1", door.port), DEADLINE)
            stack.enter_context(sock)
            if shaken:
                with contextlib.suppress(OSError):  # it was thrown out meanwhile
                    context = ssl.create_default_context(cadata=door.authority)
                    stack.enter_context(context.wrap_socket(sock, server_hostname=NAME)).sendall(b"GET /")
        assert door.ask("GET", "/echo")[0] == 200
        until(
            lambda: threading.active_count() <= connections.MOST + 3, "no more threads than there are places"
        )


def test_slow_clients_do_not_throw_out_who_showed_the_token(
    door: Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream goes on while strangers come and go."""
    with closing(door.keep()) as connection, ExitStack() as stack:
        connection.request("GET", "/lines", headers=door.bearer)
        response = connection.getresponse()
        response.readline()
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", door.port), DEADLINE))
        assert door.ask("GET", "/echo")[0] == 200
        served.more.set()
        assert response.read() == b'{"number": 1}\n{"number": 2}\n'


def test_a_stranger_who_takes_too_long_is_sent_away(door: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one who sends a byte now and then."""
    monkeypatch.setattr(connections, "STRANGER_TIME", 1.0)
    stop = threading.Event()
    with door.connection() as sock:

        def trickle() -> None:
            with contextlib.suppress(OSError):
                while not stop.wait(0.05):
                    sock.sendall(b"G")

        thread = threading.Thread(target=trickle)
        thread.start()
        try:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                assert sock.recv(1) == b""
        finally:
            stop.set()
            thread.join()


def test_a_client_who_does_not_read_is_sent_away(
    keys: tuple[Authority, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream's thread ends, although there is always more to send."""
    monkeypatch.setattr(server, "SILENCE", 1.0)
    authority, token, directory = keys
    ended = threading.Event()

    def endless(_query: Any, _body: Any) -> Iterator[dict[str, str]]:
        try:
            while True:
                yield {"much": "x" * 10_000}
        finally:
            ended.set()

    made = Server(0, files.Credentials(str(directory)), {"/": {"GET": endless}}, lambda _: None)
    thread = threading.Thread(target=made.serve_forever, args=(0.05,))
    thread.start()
    try:
        door = Client(made.port, authority.certificate, token)
        with door.connection() as sock:
            sock.sendall(f"GET / HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            assert ended.wait(DEADLINE)
    finally:
        made.stop()
        made.server_close()
        thread.join()


def test_the_limits_are_the_documented_ones() -> None:
    """16 KiB of head, 64 KiB of body."""
    assert (http_input.LONGEST_HEAD, http_input.LONGEST_BODY) == (16_384, 65_536)


def raw(door: Client, path: str, token: str = "") -> tuple[int, str | None, str]:
    """The code, the Content-Type and the text of an answer."""
    with closing(door.keep()) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_text_is_sent_as_it_is(door: Client) -> None:
    assert raw(door, "/text", door.token) == (503, "text/plain", "plain\n")


def test_pieces_are_sent_as_they_are(door: Client) -> None:
    assert raw(door, "/pieces", door.token) == (200, "text/event-stream", "data: 1\n\ndata: 2\n\n")


@pytest.mark.parametrize(
    ("path", "whole", "metrics", "none"),
    [
        pytest.param("/echo", 200, 403, 401, id="the-doors-own"),
        pytest.param("/nothing", 404, 403, 401, id="nothing"),
        pytest.param("/text", 503, 503, 401, id="metrics"),
        pytest.param("/health", 200, 200, 200, id="everybody"),
    ],
)
def test_who_may_ask(
    door: Client, keys: tuple[Authority, str, Path], path: str, whole: int, metrics: int, none: int
) -> None:
    """With the door's token, with that for metrics, without one."""
    token = (keys[2] / "metrics.token").read_text().strip()
    assert [raw(door, path, each)[0] for each in (door.token, token, "")] == [whole, metrics, none]
