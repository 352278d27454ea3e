"""The local socket: who is admitted, and what becomes of a peer that does not speak the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker import local_socket
from minicluster.embedded.broker.local_socket import LocalSocket
from minicluster.embedded.errors import BootError, RpcError
from minicluster.embedded.services import Encoded, Registry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from minicluster.embedded.ports import JSON
    from minicluster.embedded.services import RpcRequest


def registry() -> Registry:
    async def count(request: RpcRequest) -> AsyncIterator[JSON]:
        for number in range(request.need("n", int)):
            yield {"number": number}

    async def encoded(_request: RpcRequest) -> AsyncIterator[Encoded]:
        yield Encoded('{"text":"ä"}')

    def refuse(_request: RpcRequest) -> JSON:
        raise RpcError(17)

    def broken(_request: RpcRequest) -> JSON:
        raise KeyError("x")

    served = Registry()
    served.register("echo", lambda request: dict(request.payload))
    served.register("count", count)
    served.register("encoded", encoded)
    served.register("refuse", refuse)
    served.register("broken", broken)
    served.register("huge", lambda _request: {"x": "x" * local_socket.FRAME_LIMIT})
    return served


async def exchange(path: Path, *frames: bytes, answers: int) -> list[JSON]:
    """Send raw frames and return so many answers; fewer where the broker hung up."""
    server = LocalSocket(path, registry(), os.getuid())
    await server.open()
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.writelines(frames)
    got: list[JSON] = []
    try:
        for _ in range(answers):
            length = int.from_bytes(await reader.readexactly(4), "big")
            got.append(json.loads(await reader.readexactly(length)))
    except (asyncio.IncompleteReadError, ConnectionResetError):
        pass
    writer.close()
    with contextlib.suppress(ConnectionResetError):
        await writer.wait_closed()
    await server.close()
    return got


def frame(**message: object) -> bytes:
    return local_socket.encode(message)


@pytest.mark.parametrize(
    ("request_", "answers"),
    [
        pytest.param(
            {"topic": "echo", "payload": {"a": "ä\udce4"}}, [{"payload": {"a": "ä\udce4"}}], id="answer"
        ),
        pytest.param({"topic": "echo"}, [{"payload": {}}], id="no payload"),
        pytest.param({"topic": "refuse"}, [{"errnum": 17, "errstr": "File exists"}], id="refusal"),
        pytest.param(
            {"topic": "broken"},
            [{"errnum": 5, "errstr": "broken: KeyError: 'x'"}],
            id="a bug is told, not fatal",
        ),
        pytest.param(
            {"topic": "none"},
            [{"errnum": 38, "errstr": "No service matching none is registered"}],
            id="no topic",
        ),
        pytest.param(
            {"topic": "count", "payload": {"n": 2}},
            [
                {"payload": {"number": 0}},
                {"payload": {"number": 1}},
                {"errnum": 61, "errstr": "No data available"},
            ],
            id="stream",
        ),
        pytest.param(
            {"topic": "encoded"},
            [{"payload": {"text": "ä"}}, {"errnum": 61, "errstr": "No data available"}],
            id="stream of what is encoded",
        ),
        pytest.param(
            {"topic": "count", "payload": {"n": "2"}},
            [{"errnum": 71, "errstr": "count: 'n' is missing or of the wrong type"}],
            id="wrong type",
        ),
        pytest.param(
            {"topic": "huge"},
            [
                {
                    "errnum": 90,
                    "errstr": f"the answer has {local_socket.FRAME_LIMIT + 27} bytes, over 16777216",
                }
            ],
            id="too large",
        ),
    ],
)
def test_answers(short_dir: Path, request_: JSON, answers: list[JSON]) -> None:
    got = asyncio.run(exchange(short_dir / "s", frame(id=1, **request_), answers=len(answers)))
    assert got == [{"id": 1, **answer} for answer in answers]


@pytest.mark.parametrize(
    "bytes_",
    [b"\0\0\0\2{}", b"\0\0\0\1[", b"\0\0\0\2[]", b"GET / HTTP/1.1\r\n\r\n", b"\xff\xff\xff\xff"],
    ids=["no id", "no JSON", "a list", "HTTP", "too long"],
)
def test_hangs_up_on_unproven_peers(short_dir: Path, bytes_: bytes) -> None:
    """Whoever does not speak the protocol is cut off, without an answer."""
    assert asyncio.run(exchange(short_dir / "s", bytes_, answers=1)) == []


def test_another_user(short_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer with another uid is cut off."""
    monkeypatch.setattr(local_socket, "_peer_uid", lambda _writer: os.getuid() + 1)
    assert asyncio.run(exchange(short_dir / "s", frame(id=1, topic="echo"), answers=1)) == []


@pytest.mark.parametrize(("size", "most"), [(65536, 100), (100, 10_000)], ids=["large", "small"])
def test_a_stream_waits_for_its_reader(short_dir: Path, size: int, most: int) -> None:
    """A client that does not read holds the stream back; hanging up ends it."""
    made = 0
    ended = asyncio.Event()

    async def flood(_request: RpcRequest) -> AsyncIterator[JSON]:
        nonlocal made
        try:
            while True:
                made += 1
                yield {"data": "x" * size}
        finally:
            ended.set()

    async def check() -> None:
        served = Registry()
        served.register("flood", flood)
        server = LocalSocket(short_dir / "s", served, os.getuid())
        await server.open()
        _reader, writer = await asyncio.open_unix_connection(str(short_dir / "s"), limit=1024)
        writer.write(frame(id=1, topic="flood"))
        before = -1
        while made == 0 or made != before:
            before = made
            await asyncio.sleep(0.05)
        assert made < most
        writer.close()
        await writer.wait_closed()
        await asyncio.wait_for(ended.wait(), 10)
        await server.close()

    asyncio.run(check())


def test_path_too_long(short_dir: Path) -> None:
    """A socket path that the system cannot take is refused with both lengths."""
    path = short_dir / ("x" * 120)
    with pytest.raises(BootError, match=r"local-uri: .* bytes; a UNIX socket path may have 107"):
        asyncio.run(LocalSocket(path, Registry(), 0).open())
