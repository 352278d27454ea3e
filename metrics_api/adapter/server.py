"""The HTTPS server: authenticates and authorizes requests, and answers them, errors as a Status."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from aiohttp import web

from metrics_api.adapter import front_proxy
from metrics_api.adapter.errors import AdapterSettingsError
from metrics_api.adapter.tls import TlsConnection
from metrics_api.answers import bodies, queries
from metrics_api.answers.errors import (
    DefectError,
    MethodError,
    NotFoundError,
    StatusError,
    UnauthorizedError,
    UnavailableError,
)
from minicluster.kube_client.served_connections import ServedConnections, quiet_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from metrics_api.adapter.authorization import Authorization
    from metrics_api.adapter.evaluation import Evaluation
    from metrics_api.adapter.measurements import Measurements
    from minicluster.lead_server.routes import FrontProxy

LIVE = "/healthz"
READY = "/readyz"
OWN_METRICS = "/metrics"
BACKLOG = 256
"""Connections that wait to be accepted. As many may begin at once, before the oldest of them end again."""
LAST_ANSWERS_SECONDS = 5.0
"""Seconds for answers under way when the adapter stops."""

log = logging.getLogger(__name__)


class AdapterServer:
    """Answers requests of the front proxy. Before `trust` has set that, it rejects all requests."""

    def __init__(
        self,
        evaluation: Evaluation,
        authorization: Authorization,
        context: Callable[[], ssl.SSLContext],
        ready: Callable[[], str],
        measurements: Measurements,
        connections: ServedConnections | None = None,
    ) -> None:
        self._evaluation = evaluation
        self._authorization = authorization
        self._context = context
        self._ready = ready
        self._measurements = measurements
        self._connections = connections or ServedConnections()
        self._proxy: FrontProxy | None = None
        self._current: ssl.SSLContext | None = None

    @asynccontextmanager
    async def serving(self, listen: tuple[str, int]) -> AsyncIterator[tuple[str, int]]:
        """Serve on an address (empty: all) and port (0: any); yield the actual ones.

        Raises AdapterSettingsError.
        """
        handlers = web.Server(self._serve, access_log=None, logger=quiet_log())
        runner = web.ServerRunner(handlers, shutdown_timeout=LAST_ANSWERS_SECONDS)
        self._current = self._believing(self._proxy)
        first = self._believing(None)
        first.sni_callback = self._choose

        def connection() -> TlsConnection:
            return TlsConnection(self._connections, handlers(), first)

        with _listening(listen) as found:
            await runner.setup()
            loop = asyncio.get_running_loop()
            server = await loop.create_server(connection, sock=found, backlog=BACKLOG)
            try:
                where = found.getsockname()
                yield str(where[0]), int(where[1])
            finally:
                server.close()
                await runner.cleanup()

    def trust(self, proxy: FrontProxy | None) -> None:
        """Trust this front proxy from now on, and no former one, also not on its open connections."""
        if proxy != self._proxy:
            self._proxy = proxy
            self._current = self._believing(proxy)

    def renew(self, load: Callable[[ssl.SSLContext], None]) -> None:
        """Replace the certificate for new connections."""
        if self._current is not None:
            load(self._current)

    def _believing(self, proxy: FrontProxy | None) -> ssl.SSLContext:
        """Return the TLS context for connections that begin from now on."""
        context = self._context()
        # TLS 1.2 would resume sessions by itself; each connection has to prove its identity.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
        context.verify_mode = ssl.CERT_OPTIONAL
        if proxy is not None:
            proxy.trust(context)
        return context

    def _choose(self, connection: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
        """Set the present context for a connection that begins. That of the listening socket never changes.

        (Another listening server would lose the connections that the former has just accepted.)
        """
        if self._current is not None:
            connection.context = self._current

    async def _serve(self, request: web.BaseRequest) -> web.Response:
        answer = await self._answered(request)
        if not (self._connections.is_proven(request.protocol) and self._is_current(request)):
            answer.force_close()  # the next one proves its identity again
        return answer

    async def _answered(self, request: web.BaseRequest) -> web.Response:
        if request.path in {LIVE, READY}:
            trouble = self._ready() if request.path == READY else ""
            return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)
        if request.path == OWN_METRICS:
            body, content_type = self._measurements.scrape(request.headers.get("Accept", ""))
            return web.Response(body=body, headers={"Content-Type": content_type})
        begin = time.perf_counter()
        answer = await self._metrics(request)
        self._measurements.answered(request.path, answer.status, time.perf_counter() - begin)
        return answer

    async def _metrics(self, request: web.BaseRequest) -> web.Response:
        try:
            body, code = await self._answer(request), 200
        except StatusError as error:
            body, code = bodies.status(error), error.code
        except Exception:
            log.exception("a defect of the adapter: %s cannot be answered", request.path)
            defect = DefectError("a defect of the adapter; its log says more")
            body, code = bodies.status(defect), defect.code
        return self._response(body, code)

    def _response(self, body: bodies.Body, code: int) -> web.Response:
        headers = {"Cache-Control": "no-store"} | ({"Allow": "GET"} if code == MethodError.code else {})
        headers["Content-Type"] = bodies.content_type(body)
        return web.Response(body=bodies.encoded(body).encode(), status=code, headers=headers)

    async def _answer(self, request: web.BaseRequest) -> bodies.Body:
        if self._proxy is None:
            raise UnauthorizedError("the adapter does not know the API server's front proxy yet")
        who = front_proxy.identity(
            self._proxy, self._certificate(request, self._proxy), request.headers.items()
        )
        self._connections.prove(request.protocol)
        if request.method != "GET":
            raise MethodError(f"{request.method}: metrics are only read")
        path = request.rel_url.raw_path
        if not path.startswith("/apis"):
            raise NotFoundError(f"there is nothing at {path}")  # API servers also request /openapi/v3
        await self._authorization.check(who, queries.attributes(path))
        if trouble := self._ready():
            raise UnavailableError(f"the adapter is not ready: {trouble}")
        query = queries.parse(path, request.query)
        return await self._evaluation.answer(bodies.negotiated(query, request.headers.get("Accept", "")))

    def _certificate(self, request: web.BaseRequest, proxy: FrontProxy) -> dict[str, Any] | None:
        """Return a connection's client certificate, if the present front proxy's authorities verify it."""
        found = _tls(request)
        if found is None or not (
            self._is_current(request) or front_proxy.has_signed(proxy, found.getpeercert(True))
        ):
            return None
        return found.getpeercert()

    def _is_current(self, request: web.BaseRequest) -> bool:
        """Return whether a connection began under the present TLS context."""
        found = _tls(request)
        return found is not None and found.context is self._current


def _tls(request: web.BaseRequest) -> ssl.SSLObject | None:
    found: ssl.SSLObject | None = request.get_extra_info("ssl_object")
    return found


def _listening(listen: tuple[str, int]) -> socket.socket:
    address, port = listen
    family = socket.AF_INET if address and ":" not in address else socket.AF_INET6
    try:
        if not address and socket.has_dualstack_ipv6():
            return socket.create_server(("", port), family=family, backlog=BACKLOG, dualstack_ipv6=True)
        if not address:
            return socket.create_server(("", port), backlog=BACKLOG)
        return socket.create_server((address, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise AdapterSettingsError(
            f"cannot listen on {address or '*'}:{port}: {why}; --listen ADDRESS:PORT chooses another"
        ) from error
