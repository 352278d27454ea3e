"""A web server beside the service: /metrics, /healthz and /readyz, without TLS, for Prometheus and kubelets.

It shows no secrets: a probe answers with a reason of this service, never with the text of an error.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

from minicluster.database import DatabaseError
from minicluster.kube_client.served_connections import PlainServer
from restful.cli.errors import ServeError
from restful.store import clusters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.database import Database
    from restful.kubernetes.measurements import RestMeasurements

LIVE, READY, METRICS = "/healthz", "/readyz", "/metrics"
DATABASE_TIMEOUT = 2.0
"""Seconds after which a database that does not answer counts as away."""
LAST_ANSWERS_SECONDS = 1.0


class ProbeServer:
    """Answers for one replica; without a database, which comes later, it is not ready."""

    def __init__(self, measurements: RestMeasurements) -> None:
        self._measurements = measurements
        self.database: Database | None = None

    @asynccontextmanager
    async def serving(self, listen: tuple[str, int]) -> AsyncIterator[tuple[str, int]]:
        """Serve at an address (empty: every one) and port (0: any); yield those it has. Raises ServeError."""
        runner = web.ServerRunner(PlainServer(self._answer), shutdown_timeout=LAST_ANSWERS_SECONDS)
        await runner.setup()
        address, port = listen
        try:
            try:
                await web.TCPSite(runner, address or None, port).start()
            except (OSError, OverflowError) as error:
                why = getattr(error, "strerror", None) or str(error)
                raise ServeError(f"--metrics-listen {address}:{port}: {why}") from error
            bound = runner.addresses[0]
            yield str(bound[0]), int(bound[1])
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.method not in {"GET", "HEAD"}:
            return web.Response(text="only GET is right here\n", status=405, headers={"Allow": "GET, HEAD"})
        if request.path == LIVE:
            return web.Response(text="ok\n")
        if request.path == READY:
            trouble = await self._not_ready()
            return web.Response(text=f"{trouble or 'ok'}\n", status=503 if trouble else 200)
        if request.path == METRICS:
            body, content_type = self._measurements.scrape(request.headers.get("Accept", ""))
            return web.Response(body=body, headers={"Content-Type": content_type})
        return web.Response(text="there is nothing at this path\n", status=404)

    async def _not_ready(self) -> str:
        """Return why no request can be served."""
        if self.database is None:
            return "the service is being started"
        try:
            async with asyncio.timeout(DATABASE_TIMEOUT), self.database.read() as connection:
                await clusters.by_name(connection, "")
        except (DatabaseError, TimeoutError):
            return "the database cannot be used now"
        return ""
