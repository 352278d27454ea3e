"""The class of the page's routes: what they raise becomes a page, or the way to the login."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from minicluster.database import DatabaseError
from minicluster.instance.errors import InstanceError, InstanceGone
from restful.errors import HttpProblem
from restful.page.responses import HEADERS, problem_page, see_other

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.requests import Request

log = logging.getLogger("restful")
_RETRY = {"Retry-After": "2"}


class LoginNeeded(Exception):  # noqa: N818 - what has to happen, not what went wrong
    """Nobody is logged in."""


class PageRoute(APIRoute):
    """A route of the page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except LoginNeeded:
                return _to_login(request)
            except Exception as error:
                problem = problem_of(error)
                if problem.type == "internal":
                    log.exception("%s %s failed", request.method, ascii(request.url.path[:200]))
                return problem_page(problem)

        return guarded


def _to_login(request: Request) -> Response:
    """Return the way to the login: of a request by htmx, which is of a page's part, for the whole page."""
    path = f"/login?next={quote(_asked(request), safe='')}"
    if "hx-request" in request.headers:
        return Response(headers={**HEADERS, "HX-Redirect": path})
    return see_other(path)


def _asked(request: Request) -> str:
    """Return the path to go on with behind the login: of a form that was sent, the first page."""
    if request.method != "GET":
        return "/"
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def problem_of(error: Exception) -> HttpProblem:
    """Return the problem that an error is."""
    match error:
        case HttpProblem():
            return error
        case RequestValidationError() | HTTPException():
            return HttpProblem("malformed")
        case InstanceGone():
            return HttpProblem("instance-away", headers=_RETRY)
        case InstanceError():
            return HttpProblem("instance-refused", str(error))
        case DatabaseError():
            log.error("database: %s", error)
            return HttpProblem("database-away", headers=_RETRY)
        case _:
            return HttpProblem("internal")
