"""Where programs of malleable jobs connect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker_config.formats.bootstrap import lead_host
from minicluster.embedded.execution import listener
from minicluster.embedded.execution.listener import TcpListener

SECONDS = 60.0


class Callers:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.calls: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()

    def opened(self, connection: int) -> None:
        self.calls.put_nowait(("opened", connection))

    def received(self, connection: int, data: bytes) -> None:
        self.calls.put_nowait(("received", connection, data))

    def closed(self, connection: int) -> None:
        self.calls.put_nowait(("closed", connection))

    async def next(self) -> tuple[Any, ...]:
        return await asyncio.wait_for(self.calls.get(), SECONDS)


def _open(logged: list[str]) -> tuple[TcpListener, Callers, int]:
    made, callers = TcpListener(None, lambda _level, text, _name="": logged.append(text)), Callers()
    host, _, port = made.open(callers).rpartition(":")
    assert (host, made.open(callers)) == ("127.0.0.1", f"{host}:{port}")
    return made, callers, int(port)


def test_messages_go_both_ways() -> None:
    async def talk() -> None:
        made, callers, port = _open([])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await callers.next() == ("opened", 1)
        made.send(1, b"hello\n")
        assert await asyncio.wait_for(reader.readline(), SECONDS) == b"hello\n"
        writer.write(b"register\n")
        assert await callers.next() == ("received", 1, b"register\n")
        made.send(1, b"bye\n")
        made.hang_up(1)
        assert await asyncio.wait_for(reader.read(), SECONDS) == b"bye\n"
        assert await callers.next() == ("closed", 1)
        made.send(1, b"too late")
        writer.close()
        made.close()

    asyncio.run(talk())


def test_who_does_not_read_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "UNSENT", 1000)

    async def talk() -> list[str]:
        logged: list[str] = []
        made, callers, port = _open(logged)
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        await callers.next()
        made.send(1, b"x" * 20_000_000)
        assert await callers.next() == ("closed", 1)
        writer.close()
        made.close()
        return logged

    assert asyncio.run(talk()) == ["the program of a malleable job does not read what it is told"]


def test_closing_hangs_up_on_all() -> None:
    async def talk() -> None:
        made, callers, port = _open([])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        await callers.next()
        made.close()
        assert await callers.next() == ("closed", 1)
        writer.close()

    asyncio.run(talk())


def test_others_reach_it_by_either_address_family() -> None:
    async def talk() -> None:
        made, callers = TcpListener("mc-0.svc", lambda *_: None), Callers()
        host, _, port = made.open(callers).rpartition(":")
        _, writer = await asyncio.open_connection("127.0.0.1", int(port))
        assert (host, await callers.next()) == ("mc-0.svc", ("opened", 1))
        writer.close()
        made.close()

    asyncio.run(talk())


ENDPOINTS = {"default_bind": "tcp://*:%p", "default_connect": "tcp://%h.svc.ns.svc.cluster.local:%p"}


@pytest.mark.parametrize(
    ("table", "host"),
    [
        pytest.param({}, None, id="no hosts"),
        pytest.param({"hosts": [{"host": "mc-0"}]}, None, id="one broker"),
        pytest.param(
            {"hosts": [{"host": "mc-[0-1]", "connect": "tcp://127.0.0.1:7", "bind": ""}]},
            None,
            id="this machine",
        ),
        pytest.param(
            {"hosts": [{"host": "mc-[0-1]"}], "default_port": 8050, **ENDPOINTS},
            "mc-0.svc.ns.svc.cluster.local",
            id="pods",
        ),
        pytest.param(
            {"hosts": [{"host": "mc-[0-1]", "connect": "tcp://[fd00::7]:8050"}]},
            "[fd00::7]",
            id="IPv6 address",
        ),
    ],
)
def test_the_lead_is_reached_as_followers_reach_it(table: dict[str, Any], host: str | None) -> None:
    assert lead_host({"bootstrap": table}) == host
