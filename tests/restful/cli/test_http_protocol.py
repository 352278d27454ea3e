"""The server's protocol bounds what is not a request yet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from restful.cli import http_protocol, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Receive, Scope, Send

SHORT = 0.3
LONG = 20.0
GOOD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer to everything."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Where the server is, as `minicluster serve` has it, with less time for a head."""
    found: list[Any] = []
    ready = threading.Event()

    async def work() -> None:
        config = server.configuration(app, None)  # type: ignore[arg-type]
        config.timeout_keep_alive = 1
        made = server.HttpServer(config, ready.set, _nothing)
        made.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        found.append(made)
        await made.serve([listening])

    listening = socket.create_server(("127.0.0.1", 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_protocol, "HEAD_SECONDS", SHORT)
        thread = threading.Thread(target=lambda: asyncio.run(work()))
        thread.start()
        assert ready.wait(LONG)
        yield listening.getsockname()
        found[0].should_exit = True
        thread.join(LONG)


async def _nothing() -> None:
    """Do nothing at the end."""


def sent(address: tuple[str, int], *parts: bytes) -> bytes:
    """Return all that the server answers until it hangs up."""
    with socket.create_connection(address, timeout=LONG) as connection:
        for part in parts:
            connection.sendall(part)
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(65536):
                received += data
        return received


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((), id="nothing"),
        pytest.param((b"G",), id="a byte"),
        pytest.param((b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow:",), id="half a head"),
        pytest.param((b"\r\n\r\n",), id="empty lines"),
    ],
)
def test_who_sends_no_request_is_hung_up_on(address: tuple[str, int], parts: tuple[bytes, ...]) -> None:
    assert sent(address, *parts) == b""


def test_what_comes_behind_an_answer_is_not_waited_for_either(address: tuple[str, int]) -> None:
    """A body that trickles in after it was answered, or a second request that never ends."""
    slow = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"
    assert sent(address, slow).endswith(b"ok")
    assert sent(address, GOOD, b"GET / HT").count(b"200 OK") == 1


START = b"GET / HTTP/1.1\r\nHost: x\r\n"
LEAST = http_protocol.HEAD_BYTES + 1 - len(START)
"""Bytes behind START that are one too many: the server reads all of them, so its answer is not lost."""


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"X-Long: ".ljust(LEAST, b"x"), id="a field"),
        pytest.param((b"X: y\r\n" * LEAST)[:LEAST], id="many fields"),
    ],
)
def test_a_head_without_an_end_is_refused(address: tuple[str, int], rest: bytes) -> None:
    assert sent(address, START + rest).startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


def test_a_head_as_large_as_is_allowed_passes(address: tuple[str, int]) -> None:
    assert sent(address, GOOD[:-2] + b"X-Long: " + b"x" * 16_000 + b"\r\nConnection: close\r\n\r\n").endswith(
        b"ok"
    )


def test_several_requests_of_a_connection_are_answered(address: tuple[str, int]) -> None:
    assert sent(address, GOOD * 5).count(b"200 OK") == 5


@pytest.mark.parametrize(
    "data",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["nonsense", "two framings", "two lengths", "a space", "TLS"],
)
def test_what_is_no_request_is_refused_and_not_logged(
    address: tuple[str, int], data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A line for each would let anybody fill the disk."""
    with caplog.at_level(logging.WARNING):
        assert sent(address, data).startswith(b"HTTP/1.1 400 ")
    assert caplog.records == []


class Written:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        """Keep some bytes."""
        assert not self.closed
        self.writes.append(data)

    def close(self) -> None:
        """Take no more."""
        self.closed = True

    def is_closing(self) -> bool:
        """Return whether no more is taken."""
        return self.closed


def gathering(*parts: bytes, end: bool) -> tuple[list[bytes], list[bytes], Written]:
    """Return what is written at once, and in all, where parts come together and perhaps the end."""

    async def work() -> tuple[list[bytes], list[bytes], Written]:
        written = Written()
        transport = http_protocol.GatheringTransport(
            cast("asyncio.Transport", written), asyncio.get_running_loop()
        )
        for part in parts:
            transport.write(part)
        if end:
            transport.close()
        at_once = list(written.writes)
        for _ in range(2):
            await asyncio.sleep(0)
        assert transport.is_closing() == end
        return at_once, written.writes, written

    return asyncio.run(work())


def test_a_head_and_its_body_are_written_together() -> None:
    at_once, in_all, _ = gathering(b"head", b"body", end=False)
    assert (at_once, in_all) == ([], [b"headbody"])


def test_what_was_written_goes_before_the_end() -> None:
    at_once, in_all, written = gathering(b"head", b"body", end=True)
    assert at_once == in_all == [b"headbody"]
    assert written.closed


def test_much_is_written_at_once_as_flow_control_counts_it() -> None:
    """A route that sends without a pause would otherwise have all of it in memory."""
    much = b"x" * http_protocol.GATHERED_BYTES
    at_once, in_all, _ = gathering(b"head", much, much, b"end", end=False)
    assert at_once == [b"head" + much, much]
    assert in_all == [*at_once, b"end"]
