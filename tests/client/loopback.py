"""An application served on loopback, in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from fastapi import FastAPI

SECONDS = 240.0
"""In which it must have started, and have ended."""


class _Server(uvicorn.Server):
    def __init__(self, app: FastAPI) -> None:
        super().__init__(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
        self.up = threading.Event()
        self.url = ""

    async def startup(self, sockets: object = None) -> None:
        await super().startup()
        self.url = f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"
        self.up.set()


@contextlib.contextmanager
def on_loopback(opened: Callable[[], AbstractAsyncContextManager[FastAPI]]) -> Iterator[str]:
    """Yield the address at which the application is served."""
    servers: list[_Server] = []
    made = threading.Event()

    async def serve() -> None:
        async with opened() as app:
            servers.append(_Server(app))
            made.set()
            await servers[0].serve()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert made.wait(SECONDS)
    assert servers[0].up.wait(SECONDS)
    try:
        yield servers[0].url
    finally:
        servers[0].should_exit = True
        thread.join(SECONDS)
