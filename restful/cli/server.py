"""The server: one socket, one application, until SIGTERM or Ctrl-C.

At the end it accepts no more connections, ends live streams, and gives requests under way ten seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
import ssl
from typing import TYPE_CHECKING, Any

import uvicorn

from restful.cli import allocator, tls
from restful.cli.errors import ServeError
from restful.cli.http_protocol import BoundedProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from fastapi import FastAPI

    from restful.cli.endpoint import ServeEndpoint
    from restful.cli.tls import CertificateFiles

END_TIMEOUT = 10
"""Seconds that requests under way are given at the end."""
BACKLOG = 2048
SIGNALS = (signal.SIGTERM, signal.SIGINT)


def listening(endpoint: ServeEndpoint) -> socket.socket:
    """Return the socket of an endpoint. Raises ServeError."""
    host = endpoint.host or ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")  # noqa: S104 - as was asked
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, endpoint.port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ServeError(_why(endpoint, error)) from error
    return sock


def _why(endpoint: ServeEndpoint, error: OSError) -> str:
    where = f"--listen {endpoint.host}:{endpoint.port}"
    match error.errno:
        case errno.EADDRINUSE:
            return f"{where}: the port is taken; name another one, or 0 for a free one"
        case errno.EACCES:
            return f"{where}: ports below 1024 are the system's; name another one"
        case errno.EADDRNOTAVAIL:
            return f"{where}: this machine has no such address"
        case _:
            return f"{where}: {error.strerror or error}"


class HttpServer(uvicorn.Server):
    """A uvicorn server that ends without an error when a signal asks for it."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        before_end: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._before_end = before_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # modules and routes stay: no collection needs to stop everything to traverse them
        if not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, end streams, and wait for what is under way."""
        ending = asyncio.ensure_future(self._before_end())
        await super().shutdown(sockets)
        await ending

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on a signal; the process goes on behind the block, as its end is what was asked for."""
        former = {each: signal.signal(each, self.handle_exit) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)


def configuration(app: FastAPI, files: CertificateFiles | None) -> uvicorn.Config:
    """Return the settings of uvicorn. Raises ServeError for files that are no certificate and key."""
    config = uvicorn.Config(
        app, loop="uvloop", http=BoundedProtocol, ws="none", lifespan="on", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, backlog=BACKLOG, timeout_graceful_shutdown=END_TIMEOUT,
    )  # fmt: skip
    config.load()
    if files is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        files.load(context)
        config.ssl = context
    return config


async def run(server: HttpServer, sock: socket.socket, files: CertificateFiles | None) -> None:
    """Serve until a signal comes. Raises ServeError where the service does not start."""
    allocator.return_large_blocks()
    following = None
    if files is not None and server.config.ssl is not None:
        following = asyncio.ensure_future(tls.follow(files, server.config.ssl))
    try:
        await server.serve([sock])
    except SystemExit as error:  # uvicorn's, where the application did not start
        raise ServeError("the service did not start; the messages above have the reason") from error
    finally:
        if following is not None:
            following.cancel()
