"""ASGI middleware before all routes: refuses foreign names, and notes a client's address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from restful.errors import HttpProblem
from restful.front.proxies import client_of
from restful.front.secure_headers import HEADERS
from restful.limits.problem_answer import answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from restful.front.origins import HostNames
    from restful.front.proxies import ProxyNetwork

PROBES = ("/healthz", "/readyz")
"""Paths that probes ask for by an address, which is no name of the service."""


class Front:
    """See the module."""

    def __init__(self, app: ASGIApp, names: HostNames, trusted: Sequence[ProxyNetwork] = ()) -> None:
        self._app = app
        self._names = names
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = "" if scope["path"] in PROBES else self._names.refusal(headers.get("host", ""))
        if refusal:
            problem = HttpProblem("malformed", refusal, headers=HEADERS)
            await answer(problem, scope["path"])(scope, receive, send)
            return
        forwarded = ",".join(headers.getlist("x-forwarded-for"))
        peer = scope["client"][0] if scope.get("client") else ""
        scope.setdefault("state", {})["address"] = client_of(peer, forwarded, self._trusted)
        await self._app(scope, receive, send)
