"""The application: routes, the limits before them, and problems in place of every other error."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from minicluster import __version__
from minicluster.database import DatabaseAway, DatabaseError
from minicluster.instance.errors import InstanceError, InstanceGone, RequestRefused
from restful.clusters.registry import connected
from restful.document import document
from restful.errors import FieldError, HttpProblem
from restful.front.secure_headers import SecureHeaders
from restful.limits.problem_answer import answer
from restful.limits.request_limits import RequestLimiter
from restful.routes import (
    answers,
    audit_log,
    clusters,
    health,
    job_changes,
    jobs,
    me,
    nodes,
    oauth,
    output,
    queues,
    quotas,
    usage,
    users,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from fastapi import APIRouter
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from restful.clusters.spec import ClusterSpec
    from restful.services import Services

log = logging.getLogger("restful")

ROUTERS = tuple(
    each.router
    for each in (
        *(jobs, output, job_changes, clusters, nodes, queues, usage, quotas),
        *(me, users, audit_log, oauth, health),
    )
)
FIRST_CONNECTION = 5.0
"""Seconds that a start waits for its clusters, so that who comes at once finds them connected."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_BY_STATUS = {404: "not-found", 405: "method"}
_RETRY = {"Retry-After": "2"}


def create_app(
    services: Services, routers: Iterable[APIRouter] = (), specs: Iterable[ClusterSpec] = ()
) -> FastAPI:
    """Return the application over services.

    `specs` are the clusters that it serves from its start to its end, `routers` those of other parts.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await services.clusters.start(specs)
        await connected(services.clusters, FIRST_CONNECTION)
        try:
            yield
        finally:
            await services.clusters.close()
            if services.oidc is not None:
                await services.oidc.http.aclose()

    app = FastAPI(
        title="MiniCluster", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        separate_input_output_schemas=False, redirect_slashes=False,
    )  # fmt: skip
    app.state.services = services
    for router in (*ROUTERS, *routers):
        app.include_router(router)
    app.add_exception_handler(HttpProblem, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(DatabaseError, _database)
    app.add_exception_handler(InstanceError, _instance)
    app.add_middleware(RequestLimiter, limits=services.settings.requests)
    app.add_middleware(Unhandled)
    if services.identities is not None:
        app.add_middleware(SecureHeaders, issuer=services.identities.settings.issuer)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


class Unhandled:
    """ASGI middleware: an error that nobody expected is logged, and is a problem without its text."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        started = False

        async def sent(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except ClientDisconnect:  # within the body: there is nobody to answer, and nothing was done
            log.info("a client hung up before its request had come")
        except Exception as error:
            if scope["type"] != "http":
                raise
            log.exception("%s %s failed", scope["method"], ascii(scope["path"][:200]))
            if started:
                raise ConnectionError("the answer had begun") from error
            await answer(HttpProblem("internal"), scope["path"])(scope, receive, send)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpProblem)  # noqa: S101 - for the type checker
    return answer(error, request.url.path)


async def _invalid(request: Request, error: Exception) -> Response:
    """A parameter, or a body that FastAPI reads: the name of a parameter, or a pointer into the body."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - for the type checker
    fields = [
        FieldError(
            answers.pointer(rest) if where == "body" else "/".join(map(str, rest)), answers.message(each)
        )
        for each in error.errors()[:50]
        for where, *rest in (each["loc"],)
    ]
    if any(each["type"] == "json_invalid" for each in error.errors()):
        return answer(HttpProblem("malformed", "the body is no JSON"), request.url.path)
    detail = f"{fields[0].path.lstrip('/')}: {fields[0].message}"
    return answer(HttpProblem("invalid", detail, tuple(fields)), request.url.path)


async def _http(request: Request, error: Exception) -> Response:
    """What the framework itself refuses."""
    assert isinstance(error, HTTPException)  # noqa: S101 - for the type checker
    kind = _BY_STATUS.get(error.status_code, "malformed" if error.status_code < 500 else "internal")
    details = {
        "not-found": "there is nothing at this path",
        "method": f"{request.method} is not offered here",
        "malformed": "the request cannot be read",
    }
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed(request))
    return answer(HttpProblem(kind, details.get(kind, ""), headers=headers), request.url.path)


def _allowed(request: Request) -> list[str]:
    """Return the methods that are offered at a request's path (RFC 9110 section 10.2.1).

    At one that stands in the document as it is (/v1/jobs/submit) no others are: what a pattern such as
    /v1/jobs/{id} offers there is for a job of that name.
    """
    offered = [
        method
        for method in METHODS
        if any(
            each.matches({**request.scope, "method": method})[0] is Match.FULL for each in request.app.routes
        )
    ]
    operations = document(request.app)["paths"].get(request.url.path)
    if operations is None:
        return offered
    return [each for each in offered if ("get" if each == "HEAD" else each.lower()) in operations]


async def _database(request: Request, error: Exception) -> Response:
    """A database that cannot be used: its words are for the log."""
    log.error("database: %s", error)
    detail = (
        ""
        if isinstance(error, DatabaseAway)
        else "the database cannot be used until somebody has looked after it"
    )
    return answer(HttpProblem("database-away", detail, headers=_RETRY), request.url.path)


async def _instance(request: Request, error: Exception) -> Response:
    if isinstance(error, InstanceGone):
        return answer(HttpProblem("instance-away", headers=_RETRY), request.url.path)
    detail = error.text if isinstance(error, RequestRefused) else str(error)
    return answer(HttpProblem("instance-refused", detail), request.url.path)
