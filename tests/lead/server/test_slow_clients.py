"""The HTTPS server by itself: nobody keeps others out."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.lead_server import connections, files, server
from minicluster.lead_server.server import Server
from tests.lead.client import DEADLINE, Client, until
from tests.lead.keys import NAME, Authority

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.lead.server.served import Served


@pytest.mark.parametrize("shaken", [True, False], ids=["after TLS", "before TLS"])
def test_200_slow_clients_keep_nobody_out(lead_api: Client, shaken: bool, running: Server) -> None:
    """They are more than there are places; each new client gets one."""
    with ExitStack() as stack:
        for _ in range(200):
            sock = socket.create_connection(("127.0.0.1", lead_api.port), DEADLINE)
            stack.enter_context(sock)
            if shaken:
                with contextlib.suppress(OSError):  # it was thrown out meanwhile
                    context = ssl.create_default_context(cadata=lead_api.authority)
                    stack.enter_context(context.wrap_socket(sock, server_hostname=NAME)).sendall(b"GET /")
        assert lead_api.ask("GET", "/echo")[0] == 200
        until(
            lambda: threading.active_count() <= connections.MAX_CONNECTIONS + 3,
            "no more threads than there are places",
        )


def test_slow_clients_do_not_throw_out_who_showed_the_token(
    lead_api: Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream goes on while strangers come and go."""
    with closing(lead_api.keep()) as connection, ExitStack() as stack:
        connection.request("GET", "/lines", headers=lead_api.bearer)
        response = connection.getresponse()
        response.readline()
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", lead_api.port), DEADLINE))
        assert lead_api.ask("GET", "/echo")[0] == 200
        served.more.set()
        assert response.read() == b'{"number": 1}\n{"number": 2}\n'


def test_readers_of_metrics_do_not_throw_out_the_operator(
    lead_api: Client, served: Served, keys: tuple[Authority, str, Path], running: Server
) -> None:
    """Its watch, the oldest of all connections, goes on while more of them watch than there are places."""
    running.connections = connections.Connections(8, most_readers=6)
    token = (keys[2] / "metrics.token").read_text().strip()
    with closing(lead_api.keep()) as connection, ExitStack() as stack:
        connection.request("GET", "/lines", headers=lead_api.bearer)
        response = connection.getresponse()
        response.readline()
        for _ in range(10):
            reader = stack.enter_context(closing(lead_api.keep()))
            reader.request("GET", "/updates", headers={"Authorization": f"Bearer {token}"})
            assert reader.getresponse().readline() == b'{"number": 0}\n'
        assert lead_api.ask("GET", "/echo")[0] == 200
        served.more.set()
        assert response.read() == b'{"number": 1}\n{"number": 2}\n'


def test_of_what_unproven_clients_bring_about_a_line_a_minute_is_logged(
    lead_api: Client, served: Served, running: Server
) -> None:
    """The client hears the status code alone."""
    answers = [lead_api.ask("GET", "/broken", headers={}) for _ in range(5)]
    assert answers == [(500, None)] * 5
    running.connections.wait(DEADLINE)
    failed = "a client's request failed: FileNotFoundError: [Errno 2] No such file or directory: '/notes'"
    assert served.log == [failed]


def test_an_unproven_client_that_takes_too_long_is_disconnected(
    lead_api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one who sends a byte now and then."""
    monkeypatch.setattr(connections, "UNPROVEN_TIME", 1.0)
    stop = threading.Event()
    with lead_api.connection() as sock:

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
    monkeypatch.setattr(server, "SOCKET_TIMEOUT", 1.0)
    authority, token, directory = keys
    ended = threading.Event()

    def endless(_query: Any, _body: Any) -> Iterator[dict[str, str]]:
        try:
            while True:
                yield {"much": "x" * 10_000}
        finally:
            ended.set()

    made = Server(0, files.ServerCredentials(str(directory)), {"/": {"GET": endless}}, lambda _: None)
    thread = threading.Thread(target=made.serve_forever, args=(0.05,))
    thread.start()
    try:
        lead_api = Client(made.port, authority.certificate, token)
        with lead_api.connection() as sock:
            sock.sendall(f"GET / HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            assert ended.wait(DEADLINE)
    finally:
        made.stop()
        made.server_close()
        thread.join()
