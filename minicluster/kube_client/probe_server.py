"""A small web server of a service: /healthz, /readyz and /metrics, for kubelets and Prometheus.

It shows no secrets: the probes answer with a reason from the service, never with the text of an error.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from minicluster.kube_client.errors import ListenError
from minicluster.kube_client.served_connections import PlainServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from minicluster.kube_client.served_connections import WebHandler

LIVE = "/healthz"
READY = "/readyz"
METRICS = "/metrics"

FINE = "ok"
UNAVAILABLE = 503
FAILED = 500
# A probe times out after a second: when the service stops, it waits no longer for answers.
LAST_ANSWERS_SECONDS = 1.0

logger = logging.getLogger(__name__)


class ScrapedMetrics(Protocol):
    """The metrics of a service."""

    def scrape(self, accept: str = "") -> tuple[bytes, str]:
        """Return all of them in a format that the Accept header allows, and its content type."""
        ...


@asynccontextmanager
async def serving(
    listen: tuple[str, int], metrics: ScrapedMetrics, live: Callable[[], str], ready: Callable[[], str]
) -> AsyncIterator[tuple[str, int]]:
    """Serve on an address (empty: all) and port (0: any free one); yield the actual address and port.

    `live` and `ready` return why the probe fails, or an empty text. Raises ListenError.
    """
    served = {LIVE: _probe(live, FAILED), READY: _probe(ready, UNAVAILABLE), METRICS: _exposition(metrics)}
    runner = web.ServerRunner(PlainServer(_routed(served)), shutdown_timeout=LAST_ANSWERS_SECONDS)
    await runner.setup()
    try:
        where = await _listen(runner, listen)
        logger.info("%s, %s and %s are served on %s", LIVE, READY, METRICS, _shown(where))
        yield where
    finally:
        await runner.cleanup()


async def _listen(runner: web.ServerRunner, listen: tuple[str, int]) -> tuple[str, int]:
    address, port = listen
    try:
        await web.TCPSite(runner, address or None, port).start()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise ListenError(
            f"cannot listen on {_shown(listen)}: {why}; --listen ADDRESS:PORT chooses another (port 0: any)"
        ) from error
    bound = runner.addresses[0]
    return str(bound[0]), int(bound[1])


def _routed(served: Mapping[str, WebHandler]) -> WebHandler:
    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path not in served:
            return web.Response(text="there is nothing at this path\n", status=404)
        if request.method not in {"GET", "HEAD"}:
            return web.Response(text="only GET is right here\n", status=405, headers={"Allow": "GET, HEAD"})
        return await served[request.path](request)

    return answer


def _probe(ask: Callable[[], str], status: int) -> WebHandler:
    async def answer(request: web.BaseRequest) -> web.Response:
        try:
            trouble = ask()
        except Exception:
            logger.exception("a defect of the service: %s cannot be answered", request.path)
            trouble = "a defect of the service; its log says more"
        return web.Response(text=f"{trouble or FINE}\n", status=status if trouble else 200)

    return answer


def _exposition(metrics: ScrapedMetrics) -> WebHandler:
    async def answer(request: web.BaseRequest) -> web.Response:
        text, content_type = metrics.scrape(request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    return answer


def _shown(listen: tuple[str, int]) -> str:
    address, port = listen
    return f"[{address}]:{port}" if ":" in address else f"{address or '*'}:{port}"
