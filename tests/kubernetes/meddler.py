"""A proxy between an operator and the API server that interferes with single requests.

It speaks plain HTTP on loopback and brings the operator's own credentials, so that the rights stay the same.
"""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from tests.devcluster import Access, until

WRITES = {"POST", "PATCH", "PUT", "DELETE"}
SESSION = web.AppKey("session", aiohttp.ClientSession)
POLL_INTERVAL = 0.05
"""Seconds."""
HOP = {"transfer-encoding", "content-encoding", "content-length", "connection", "host"}


@dataclass(frozen=True, slots=True)
class Write:
    """A write that the operator sends: the `number`-th since the proxy got its plan."""

    number: int
    method: str
    path: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in place of the server's; with `done` the server has carried the write out all the same."""

    status: int
    done: bool = False
    headers: tuple[tuple[str, str], ...] = ()


# What to do with a write: None passes it on. Raising CutError drops the connection instead of an answer.
Plan = Callable[[Write], Answer | None]


class CutError(Exception):
    """The connection is cut; with `done` after the server has carried the write out."""

    def __init__(self, *, done: bool) -> None:
        super().__init__()
        self.done = done


@dataclass
class Meddler:
    """The proxy. `seen` are the writes so far.

    `plan` decides what becomes of a write, and `delay` after how many seconds. `after` is called with each
    write that the server has answered, and its status, before the operator gets the answer. While it is
    `silent` it passes nothing on, in neither direction; nor afterwards what it received meanwhile.
    """

    access: Access
    kubeconfig: Path
    plan: Plan = lambda _: None
    delay: Callable[[Write], float] = lambda _: 0
    after: Callable[[Write, int], None] = lambda _write, _status: None
    seen: list[Write] = field(default_factory=list)
    silent: bool = False
    url: str = ""
    stop: Callable[[], object] = lambda: None

    def begin(
        self,
        plan: Plan = lambda _: None,
        after: Callable[[Write, int], None] = lambda _write, _status: None,
    ) -> None:
        """Count anew, and interfere from now on."""
        self.seen.clear()
        self.plan = plan
        self.after = after

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on, or not."""
        body = await request.read()
        if self.silent:
            await self.until_not_silent()
            return cut_off(request)
        if request.method not in WRITES:
            return await self.forward(request, body)
        write = Write(len(self.seen), request.method, request.path)
        self.seen.append(write)
        await asyncio.sleep(self.delay(write))
        try:
            answer = self.plan(write)
        except CutError as cut:
            if cut.done:
                await self.forward(request, body, answered=False)
            return cut_off(request)
        if answer is None:
            return await self.forward(request, body)
        if answer.done:
            await self.forward(request, body, answered=False)
        status = {"kind": "Status", "code": answer.status, "message": "the meddler says no"}
        return web.Response(status=answer.status, text=json.dumps(status), headers=dict(answer.headers))

    async def until_not_silent(self) -> None:
        """Wait as long as it is silent."""
        while self.silent:
            await asyncio.sleep(POLL_INTERVAL)

    async def forward(
        self, request: web.Request, body: bytes, *, answered: bool = True
    ) -> web.StreamResponse:
        """Send a request to the server and stream its answer back."""
        headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP}
        target = f"{self.access.url}{request.path_qs}"
        session = request.app[SESSION]
        async with session.request(request.method, target, data=body or None, headers=headers) as found:
            if request.method in WRITES:
                self.after(Write(len(self.seen) - 1, request.method, request.path), found.status)
            if not answered:
                await found.read()
                return web.Response()
            kept = {key: value for key, value in found.headers.items() if key.lower() not in HOP}
            answer = web.StreamResponse(status=found.status, headers=kept)
            with contextlib.suppress(ConnectionError):  # who asked may have gone
                await answer.prepare(request)
                async for chunk in found.content.iter_any():
                    await self.until_not_silent()
                    await answer.write(chunk)
                await answer.write_eof()
            return answer

    async def serve(self) -> None:
        """Serve until `stop` is called."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.stop = lambda: loop.call_soon_threadsafe(stop.set)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{tail:.*}", self.handle)
        timeout = aiohttp.ClientTimeout(total=None)
        connector = aiohttp.TCPConnector(limit=0, ssl=self.access.tls())
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            app[SESSION] = session
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            address, port = runner.addresses[0][:2]
            self.write(f"http://{address}:{port}")
            await stop.wait()
            await runner.cleanup()

    def write(self, url: str) -> None:
        """Write the kubeconfig that leads through the proxy."""
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "m",
            "contexts": [{"name": "m", "context": {"cluster": "m", "user": "m"}}],
            "clusters": [{"name": "m", "cluster": {"server": url}}],
            "users": [{"name": "m", "user": {}}],
        }
        self.kubeconfig.write_text(yaml.safe_dump(document))
        self.url = url


def cut_off(request: web.Request) -> web.Response:
    """Drop the connection of a request; the response goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


@contextlib.contextmanager
def meddling(access: Access, kubeconfig: Path) -> Iterator[Meddler]:
    """Have a proxy to the server of `access`; `kubeconfig` is written."""
    meddler = Meddler(access, kubeconfig)
    thread = threading.Thread(target=asyncio.run, args=(meddler.serve(),))
    thread.start()
    try:
        until(lambda: meddler.url, "the proxy")
        yield meddler
    finally:
        meddler.stop()
        thread.join()
