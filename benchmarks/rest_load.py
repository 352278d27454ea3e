"""The load of benchmarks/rest.py, as a process of its own: HTTP/1.1 over kept connections, by asyncio.

It reads what to do as one JSON object from standard input, and prints what came of it as one JSON object.
Servers are asked in the same way, whichever they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

TIMEOUT = 60.0
MAX_ANSWER = 64 << 20
PROBE_INTERVAL = 0.05
BUSY = 503


@dataclass
class Measured:
    """How long requests took, in seconds, and their status codes."""

    times: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return rate and times as numbers to print."""
        if not self.times:
            return {"rate": 0.0, "codes": dict(self.codes)}
        spread = statistics.quantiles(self.times, n=100) if len(self.times) > 1 else self.times * 99
        return {
            "requests": len(self.times),
            "rate": round(len(self.times) / seconds, 1),
            "p50_ms": round(statistics.median(self.times) * 1000, 2),
            "p99_ms": round(spread[98] * 1000, 2),
            "max_ms": round(max(self.times) * 1000, 2),
            "codes": {str(code): count for code, count in sorted(self.codes.items())},
        }


class Connection:
    """A connection that is kept, and opened again where the server has closed it."""

    def __init__(self, address: tuple[str, int], source: str = "") -> None:
        self._address = address
        self._source = (source, 0) if source else None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.retry_after = 0.0
        """Seconds that the last answer asks to wait."""

    async def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return the status code and the body."""
        if self._reader is None or self._writer is None:
            host, port = self._address
            self._reader, self._writer = await asyncio.open_connection(
                host, port, limit=MAX_ANSWER, local_addr=self._source
            )
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        body = b""
        if b"\r\ntransfer-encoding: chunked" in head:
            while size := int((await self._reader.readline()).split(b";")[0], 16):
                body += (await self._reader.readexactly(size + 2))[:-2]
            await self._reader.readline()
        else:
            body = await self._reader.readexactly(int(_field(head, b"content-length") or 0))
        self.retry_after = float(_field(head, b"retry-after") or 0)
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), body

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


def _field(head: bytes, name: bytes) -> bytes:
    """Return a header of an answer's head in small letters; empty if it has none."""
    return head.partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip()


def request(address: tuple[str, int], each: dict[str, Any]) -> bytes:
    """Return a request as it goes over the wire: `method`, `path`, `token`, and perhaps `json` or `form`."""
    body, kind = b"", ""
    if "json" in each:
        body, kind = json.dumps(each["json"]).encode(), "application/json"
    elif "form" in each:
        body, kind = each["form"].encode(), "application/x-www-form-urlencoded"
    lines = [f"{each['method']} {each['path']} HTTP/1.1", f"Host: {address[0]}:{address[1]}"]
    lines += [f"Authorization: Bearer {each['token']}"] if each.get("token") else []
    lines += [f"Accept: {each['accept']}"] if each.get("accept") else []
    lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"] if body else []
    lines += ["Content-Length: 0"] if not body and each["method"] != "GET" else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


async def measured(connection: Connection, sent: bytes, found: Measured) -> int:
    """Send a request, note how long the answer took, and return its status code; 0: there was none."""
    begin = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT):
            code, _ = await connection.exchange(sent)
    except (OSError, EOFError, TimeoutError):
        connection.close()
        code = 0
    found.times.append(time.perf_counter() - begin)
    found.codes[code] += 1
    return code


async def rate(order: dict[str, Any]) -> dict[str, Any]:
    """Send the requests in turn for `seconds`, over `connections` at a time."""
    address = (order["host"], order["port"])
    requests = [request(address, each) for each in order["requests"]]
    found = Measured()
    clock = asyncio.get_running_loop().time
    end = clock() + order["seconds"]

    async def one(number: int) -> None:
        connection = Connection(address)
        while clock() < end:
            await measured(connection, requests[number % len(requests)], found)
            number += order["connections"]
        connection.close()

    begin = clock()
    await asyncio.gather(*(one(number) for number in range(order["connections"])))
    return found.summary(clock() - begin)


async def once(order: dict[str, Any]) -> dict[str, Any]:
    """Send each of the requests once, over `connections` at a time; `own_addresses`: one address each.

    For `retry_for` seconds one that was refused for now (503) is sent again, when the answer asks for that.
    """
    address = (order["host"], order["port"])
    waiting = iter(list(enumerate(request(address, each) for each in order["requests"])))
    found = Measured()

    async def one() -> None:
        connection = Connection(address)
        for number, sent in waiting:
            if order.get("own_addresses"):
                connection.close()
                connection = Connection(address, f"127.1.{number // 250}.{number % 250 + 1}")
            while await measured(connection, sent, found) == BUSY and clock() < until:
                await asyncio.sleep(connection.retry_after)
                connection.close()  # the server may have meanwhile
        connection.close()

    clock = asyncio.get_running_loop().time
    begin = clock()
    until = begin + order.get("retry_for", 0.0)
    async with probing(order) as probe:
        await asyncio.gather(*(one() for _ in range(order["connections"])))
    return found.summary(clock() - begin) | {"probe": probe.summary(clock() - begin)}


async def streams(order: dict[str, Any]) -> dict[str, Any]:
    """Open streams, and ask for other things meanwhile for `seconds`."""
    address = (order["host"], order["port"])
    received: Counter[str] = Counter()
    opened = asyncio.Semaphore(50)
    begun = asyncio.Event()
    left = len(order["streams"])

    async def one(each: dict[str, Any]) -> None:
        nonlocal left
        async with opened:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request(address, each))
            head = await reader.readuntil(b"\r\n\r\n")
            received[head.split(b" ", 2)[1].decode()] += 1
        left -= 1
        if not left:
            begun.set()
        while data := await reader.read(1 << 16):
            received["bytes"] += len(data)
        received["ended"] += 1
        writer.close()

    tasks = [asyncio.ensure_future(one(each)) for each in order["streams"]]
    await asyncio.wait_for(begun.wait(), 2 * TIMEOUT)
    before, clock = received["bytes"], asyncio.get_running_loop().time
    begin = clock()
    async with probing(order) as probe:
        await asyncio.sleep(order["seconds"])
    seconds = clock() - begin
    print("open", file=sys.stderr, flush=True)  # who started this looks at the server's memory now
    await asyncio.to_thread(sys.stdin.readline)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    bytes_per_second = round((received.pop("bytes") - before) / seconds)
    return {"streams": dict(received), "bytes_per_second": bytes_per_second, "probe": probe.summary(seconds)}


@contextlib.asynccontextmanager
async def probing(order: dict[str, Any]) -> AsyncIterator[Measured]:
    """Ask for the order's `probe` requests in turn, one at a time, as long as the block lasts."""
    address, found = (order["host"], order["port"]), Measured()
    requests = [request(address, each) for each in order.get("probe", [])]

    async def run() -> None:
        connection = Connection(address)
        for sent in itertools.cycle(requests):
            await measured(connection, sent, found)
            await asyncio.sleep(PROBE_INTERVAL)

    task = asyncio.ensure_future(run())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


KINDS: dict[str, Callable[[dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]] = {
    "rate": rate,
    "once": once,
    "streams": streams,
}


def main() -> None:
    """Do what the first line of standard input asks for."""
    import uvloop  # noqa: PLC0415 - what a reader of KINDS does not need

    order = json.loads(sys.stdin.readline())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(KINDS[order["kind"]](order))))


if __name__ == "__main__":
    main()
