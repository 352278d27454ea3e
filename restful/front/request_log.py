"""ASGI middleware before all others: numbers requests, and writes a line about each.

A path may have a token in it, or a name that somebody typed. So a line has the route, and never the path.
"""

from __future__ import annotations

import logging
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.database import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = b"x-request-id"
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""In place of a route or method that there is none."""
QUIET = frozenset({"/healthz", "/readyz"})
"""Routes without a line: probes ask for them all the time."""

_CURRENT: ContextVar[str] = ContextVar("request", default="")
log = logging.getLogger("restful.requests")


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request, and when its answer began."""

    method: str
    route: str
    status: int
    """0: it ended without an answer."""
    seconds: float
    """Until the answer began."""


class RequestLog:
    """See the module. `observe` is called with each request."""

    def __init__(self, app: ASGIApp, observe: Callable[[AnsweredRequest], None]) -> None:
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = new_id(time.time())
        started = time.perf_counter()
        status, answered = 0, 0.0

        async def sent(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], time.perf_counter() - started
                message = {**message, "headers": [*message.get("headers", ()), (HEADER, number.encode())]}
            await send(message)

        mark = _CURRENT.set(number)
        try:
            await self._app(scope, receive, sent)
        finally:
            end = time.perf_counter() - started
            request = AnsweredRequest(_method(scope), route_of(scope), status, answered or end)
            self._observe(request)
            if request.route not in QUIET:
                _write(request, end)
            _CURRENT.reset(mark)


def _write(request: AnsweredRequest, seconds: float) -> None:
    fields = {
        "method": request.method,
        "route": request.route,
        "status": request.status,
        "seconds": round(seconds, 4),
    }
    log.info("%s %s", request.method, request.route, extra=fields)


def _method(scope: Scope) -> str:
    method = str(scope["method"])
    return method if method in METHODS else OTHER


def route_of(scope: Scope) -> str:
    """Return the route that answers a request, as `/v2/clusters/{cluster}`: there are few of them."""
    found = getattr(scope.get("route"), "path", None)
    return found if isinstance(found, str) else OTHER


def with_request(record: logging.LogRecord) -> bool:
    """Add the number of the request that is answered to a line of the log; a filter for handlers."""
    number = _CURRENT.get()
    if number:
        record.request = number
    return True
