"""Requests to an application in this process that end where the test wants, unlike those of a client."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp

DEADLINE = 240.0


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not condition():
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"still not: {what}") from None


@dataclass
class Exchange:
    """One request and what came of it; `task` is under way until the application returns."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared: the client takes nothing."""
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set: the client has hung up."""
    task: asyncio.Task[None] | None = None
    cut: int | None = None
    """The client hangs up after so many bytes of the body."""

    async def send(self, message: Mapping[str, Any]) -> None:
        await self.reading.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        if self.gone.is_set():
            return
        self.body += message.get("body", b"")
        self.complete = not message.get("more_body", False)
        if self.cut is not None and len(self.body) >= self.cut:
            self.body, self.complete = self.body[: self.cut], False
            self.gone.set()

    async def receive(self) -> Mapping[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def ended(self) -> Exchange:
        """Wait until the application returns."""
        assert self.task is not None
        await asyncio.wait_for(self.task, DEADLINE)
        return self

    async def hang_up(self) -> None:
        self.gone.set()
        await self.ended()

    async def has(self, data: bytes) -> None:
        """Wait for something in the body."""
        await until(lambda: data in self.body, f"{data!r} in the body")


def request(
    app: ASGIApp,
    target: str,
    *,
    method: str = "GET",
    cut: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Exchange:
    """Start a request; the client reads until the test says otherwise."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("192.0.2.1", 1),
        "server": ("test", 443),
        "state": {},
    }
    exchange = Exchange(cut=cut)
    exchange.reading.set()
    exchange.task = asyncio.get_running_loop().create_task(app(scope, exchange.receive, exchange.send))
    return exchange


@contextlib.asynccontextmanager
async def hanging_up(exchange: Exchange) -> Any:
    """Hang up at the end of a block."""
    try:
        yield exchange
    finally:
        await exchange.hang_up()
