"""The operator's small web server: /healthz, /readyz and /metrics, for kubelets and Prometheus.

It shows no secrets: the probes answer with a reason from the operator, never with the text of an error.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web

from minicluster.operator.errors import ListenError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from minicluster.operator.metrics import OperatorMetrics

    Handler: TypeAlias = Callable[[web.Request], Awaitable[web.Response]]

LIVE = "/healthz"
READY = "/readyz"
METRICS = "/metrics"

FINE = "ok"
UNAVAILABLE = 503
FAILED = 500
# A probe times out after a second: when the operator stops, it waits no longer for answers.
LAST_ANSWERS_SECONDS = 1.0

logger = logging.getLogger(__name__)


@asynccontextmanager
async def serving(
    listen: tuple[str, int], metrics: OperatorMetrics, live: Callable[[], str], ready: Callable[[], str]
) -> AsyncIterator[tuple[str, int]]:
    """Serve on an address (empty: all) and port (0: any free one); yield the actual address and port.

    `live` and `ready` return why the probe fails, or an empty text. Raises ListenError.
    """
    app = web.Application()
    app.router.add_get(LIVE, _probe(live, FAILED))
    app.router.add_get(READY, _probe(ready, UNAVAILABLE))
    app.router.add_get(METRICS, _exposition(metrics))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=LAST_ANSWERS_SECONDS)
    await runner.setup()
    try:
        where = await _listen(runner, listen)
        logger.info("%s, %s and %s are served on %s", LIVE, READY, METRICS, _shown(where))
        yield where
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, listen: tuple[str, int]) -> tuple[str, int]:
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


def _probe(ask: Callable[[], str], status: int) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        try:
            trouble = ask()
        except Exception:
            logger.exception("a defect of the operator: %s cannot be answered", request.path)
            trouble = "a defect of the operator; its log says more"
        return web.Response(text=f"{trouble or FINE}\n", status=status if trouble else 200)

    return answer


def _exposition(metrics: OperatorMetrics) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        text, content_type = metrics.scrape(request.headers.get("Accept", ""))
        return web.Response(body=text, headers={"Content-Type": content_type})

    return answer


def _shown(listen: tuple[str, int]) -> str:
    address, port = listen
    return f"[{address}]:{port}" if ":" in address else f"{address or '*'}:{port}"
