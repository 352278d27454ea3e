"""The limits on those who reach the port of the operator or of the metrics adapter."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path

import pytest
from aiohttp import web

from minicluster.kube_client import served_connections
from minicluster.kube_client.served_connections import PlainServer, ServedConnections
from tests.operator import virtual_time

HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
DEADLINE = 60.0


class Transport(asyncio.Transport):
    """Knows whether it was ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = False

    def abort(self) -> None:
        self.ended = True


class Pool:
    """The connections of a server, by default with three places."""

    def __init__(self, connections: ServedConnections | None = None) -> None:
        self.connections = connections or ServedConnections(3)
        self.all: list[tuple[asyncio.Protocol, Transport]] = []

    def add(self, *, proven: bool = False) -> asyncio.Protocol:
        """Have a client connect, and show perhaps who it is."""
        protocol, transport = asyncio.Protocol(), Transport()
        self.all.append((protocol, transport))
        self.connections.admit(protocol, transport)
        if proven:
            self.connections.prove(protocol)
        return protocol

    def ended(self) -> list[int]:
        """Return which connections were ended, by their order."""
        return [position for position, (_, transport) in enumerate(self.all) if transport.ended]


@pytest.mark.parametrize(
    ("there", "ended"),
    [
        pytest.param([False, False, False], 0, id="the oldest"),
        pytest.param([True, False, False], 1, id="the oldest unproven one"),
        pytest.param([True, True, True], 0, id="the one used longest ago"),
    ],
)
def test_one_too_many_replaces(there: list[bool], ended: int) -> None:
    async def work() -> None:
        pool = Pool()
        for proven in there:
            pool.add(proven=proven)
        pool.add()
        assert pool.ended() == [ended]

    asyncio.run(work())


def test_without_other_limits_they_are_those_of_the_page() -> None:
    """What docs/operator.md promises of strangers."""

    async def work() -> None:
        pool = Pool(ServedConnections())
        first, _ = pool.add(), [pool.add() for _ in range(127)]
        pool.connections.read(first, 128 * 1024)
        assert pool.ended() == []
        pool.connections.read(first, 1)
        assert pool.ended() == [0]
        pool.add()
        assert pool.ended() == [0]
        pool.add()
        assert pool.ended() == [0, 1]
        await asyncio.sleep(9.9)
        assert pool.ended() == [0, 1]
        await asyncio.sleep(0.2)
        assert pool.ended() == list(range(130))

    virtual_time.run(work())
    page = (Path(__file__).parents[2] / "docs" / "operator.md").read_text()
    assert "get one answer, 10 s and 128 KiB, and all clients together 128 connections" in page


def test_one_that_is_used_again_is_not_the_one_used_longest_ago() -> None:
    async def work() -> None:
        pool = Pool()
        first = pool.add(proven=True)
        pool.add(proven=True)
        pool.add(proven=True)
        pool.connections.prove(first)
        pool.add()
        assert pool.ended() == [1]

    asyncio.run(work())


def test_one_that_has_ended_makes_room() -> None:
    async def work() -> None:
        pool = Pool()
        first = pool.add()
        pool.add()
        pool.add()
        pool.connections.leave(first)
        pool.add()
        assert pool.ended() == []

    asyncio.run(work())


def test_an_unproven_one_ends_after_its_time_and_a_proven_one_does_not() -> None:
    async def work() -> None:
        pool = Pool(ServedConnections(3, unproven_seconds=0.01))
        pool.add(proven=True)
        pool.add()
        async with asyncio.timeout(DEADLINE):
            while not pool.ended():
                await asyncio.sleep(0.01)
        assert pool.ended() == [1]

    asyncio.run(work())


@pytest.mark.parametrize(("proven", "ended"), [(False, [0]), (True, [])], ids=["unproven", "proven"])
def test_of_an_unproven_one_few_bytes_are_read(proven: bool, ended: list[int]) -> None:
    async def work() -> None:
        pool = Pool()
        client = pool.add(proven=proven)
        pool.connections.read(client, served_connections.UNPROVEN_BYTES)
        assert pool.ended() == []
        pool.connections.read(client, 1)
        assert pool.ended() == ended

    asyncio.run(work())


async def talk(data: bytes, connections: ServedConnections | None = None) -> bytes:
    """Send bytes to a server that answers "fine"; return what it sends until it ends the connection."""

    async def fine(_: web.BaseRequest) -> web.Response:
        return web.Response(text="fine")

    runner = web.ServerRunner(PlainServer(fine, connections))
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        reader, writer = await asyncio.open_connection(*runner.addresses[0])
        writer.write(data)
        answer = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(DEADLINE):
                answer = await reader.read()
        writer.close()
    finally:
        await runner.cleanup()
    return answer


def test_a_client_gets_one_answer() -> None:
    answer = asyncio.run(talk((HEAD + b"\r\n") * 2))
    assert (answer.count(b"HTTP/1.1 200"), answer.count(b"Connection: close")) == (1, 1)


def test_a_client_that_sends_nothing_is_disconnected() -> None:
    assert asyncio.run(talk(b"", ServedConnections(unproven_seconds=0.05))) == b""


MALFORMED = [
    pytest.param(HEAD + b"X: " + b"y" * 9000 + b"\r\n\r\n", id="long header"),
    pytest.param(HEAD + b"X: y\r\n" * 40 + b"\r\n", id="many headers"),
    pytest.param(b"\x16\x03\x01\x00\x01", id="TLS"),
    pytest.param(b"GET / HTTP/1.1\r\nno header\r\n\r\n", id="no header"),
]


@pytest.mark.parametrize("data", MALFORMED)
def test_a_malformed_request_is_refused_and_not_logged(caplog: pytest.LogCaptureFixture, data: bytes) -> None:
    answer = asyncio.run(talk(data))
    assert (answer.split()[1], caplog.messages) == (b"400", [])


def test_with_debug_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asyncio.run(talk(MALFORMED[0].values[0]))  # type: ignore[arg-type]
    assert "Error handling request" in caplog.text
