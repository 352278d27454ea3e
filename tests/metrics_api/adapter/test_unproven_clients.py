"""The server, and those who reach its port but are not the API server: they keep nobody out."""

import asyncio
import contextlib
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from minicluster.kube_client.served_connections import UNPROVEN_BYTES, ServedConnections
from tests.devcluster.certificates import Pair
from tests.metrics_api.adapter.test_server import HOST, JANE, PATH, Running, with_server

DEADLINE = 60.0
LIMIT = 8
CLIENTS = 20
FINE = b"HTTP/1.1 200 OK"
ASKING = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nX-Remote-User: {JANE['X-Remote-User']}\r\n\r\n".encode()


@contextlib.asynccontextmanager
async def connected(
    here: Running, pair: Pair | None = None, *, shaken: bool = True
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect, without a certificate perhaps, and without TLS perhaps."""
    context = here.trust(pair) if shaken else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", here.port, ssl=context, server_hostname=HOST if shaken else None
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Return what is sent until the server ends the connection."""
    read = b""
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        async with asyncio.timeout(DEADLINE):
            while piece := await reader.read(1 << 16):
                read += piece
    return read


async def answered(here: Running, data: bytes, *, shaken: bool = True) -> bytes:
    """Send bytes without a certificate; return what is sent until the server ends the connection."""
    async with connected(here, shaken=shaken) as (reader, writer):
        writer.write(data)
        return await rest(reader)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Ask for a metric; return the first line of the answer."""
    writer.write(ASKING)
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
    return head.partition(b"\r\n")[0]


async def until_few(readers: list[asyncio.StreamReader]) -> None:
    """Wait until the server has ended all connections but those for which there are places."""
    pending = {asyncio.create_task(rest(each)) for each in readers}
    while len(pending) >= LIMIT:
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    for each in pending:
        each.cancel()


@pytest.mark.parametrize("shaken", [True, False], ids=["after TLS", "before TLS"])
def test_idle_clients_keep_few_connections_and_not_the_front_proxys(tmp_path: Path, shaken: bool) -> None:
    async def work(here: Running) -> None:
        proxy, pair = here.proxy()
        here.server.trust(proxy)
        async with asyncio.timeout(DEADLINE), connected(here, pair) as kept, AsyncExitStack() as stack:
            assert await ask(*kept) == FINE
            readers = []
            for _ in range(CLIENTS):
                with contextlib.suppress(OSError):  # another one took its place meanwhile
                    found = await stack.enter_async_context(connected(here, shaken=shaken))
                    readers.append(found[0])
            assert await ask(*await stack.enter_async_context(connected(here, pair))) == FINE
            await until_few(readers)
            assert await ask(*kept) == FINE

    with_server(tmp_path, work, connections=ServedConnections(LIMIT))


IDLE_CLIENTS = 300
IDLE_PROGRAM = f"""
import signal, socket, ssl, sys

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_verify_locations(cadata=sys.stdin.read())
kept = []
for _ in range({IDLE_CLIENTS}):
    try:
        plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        kept.append(context.wrap_socket(plain, server_hostname="{HOST}"))
    except OSError:  # another one took its place meanwhile
        continue
print(len(kept), flush=True)
signal.pause()
"""
"""A program that connects as often, and does nothing then."""


def test_idle_clients_take_little_memory(tmp_path: Path) -> None:
    """Some 5 MB. With the buffers of asyncio it would be 36 MB, and 84 MB with any number of connections."""

    async def work(here: Running) -> None:
        assert await answered(here, ASKING)  # so all that is needed once is loaded
        before = resident()
        clients = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", IDLE_PROGRAM, str(here.port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert clients.stdin is not None
        assert clients.stdout is not None
        clients.stdin.write(here.authority.bundle.encode())
        clients.stdin.close()
        try:
            shaken = int(await asyncio.wait_for(clients.stdout.readline(), DEADLINE))
            after = resident()
        finally:
            clients.kill()
            await clients.wait()
        assert shaken > IDLE_CLIENTS / 2
        assert after - before < 24_000

    with_server(tmp_path, work)


def resident() -> int:
    """Return the memory that this process takes now, in kB."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


SLOW = [
    pytest.param(b"", True, id="idle"),
    pytest.param(b"", False, id="before TLS"),
    pytest.param(ASKING[:40], True, id="within the head"),
]


@pytest.mark.parametrize(("data", "shaken"), SLOW)
def test_an_unproven_client_has_little_time(tmp_path: Path, data: bytes, shaken: bool) -> None:
    async def work(here: Running) -> None:
        assert await answered(here, data, shaken=shaken) == b""

    with_server(tmp_path, work, connections=ServedConnections(unproven_seconds=0.5))


def test_of_an_unproven_client_little_is_read(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        lines = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 8000) for number in range(100))
        assert await answered(here, b"GET / HTTP/1.1\r\n" + lines[: UNPROVEN_BYTES + 1]) == b""

    with_server(tmp_path, work, connections=ServedConnections(unproven_seconds=10 * DEADLINE))


def test_an_unproven_client_gets_one_answer(tmp_path: Path) -> None:
    async def work(here: Running) -> None:
        here.server.trust(here.proxy()[0])
        assert (await answered(here, ASKING * 2)).count(b"HTTP/1.1 401") == 1

    with_server(tmp_path, work)


BAD = [
    pytest.param(b"GET / HTTP/1.1\r\nX: " + b"y" * 9000 + b"\r\n\r\n", b"400", id="long header"),
    pytest.param(b"GET http://[ HTTP/1.1\r\n\r\n", b"400", id="address that is none"),
    pytest.param(b"\x00\xff\r\n\r\n", b"400", id="bytes"),
    pytest.param(ASKING, b"401", id="a request as it should be"),
]


@pytest.mark.parametrize(("data", "code"), BAD)
def test_what_an_unproven_client_sends_is_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes, code: bytes
) -> None:
    async def work(here: Running) -> None:
        assert (await answered(here, data)).split()[1] == code

    with_server(tmp_path, work)
    assert caplog.messages == []


def test_without_tls_it_is_not_logged_either(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(here: Running) -> None:
        assert b"HTTP" not in await answered(here, ASKING, shaken=False)

    with_server(tmp_path, work)
    assert caplog.messages == []
