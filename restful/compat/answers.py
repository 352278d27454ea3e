"""Answers of /v1, and the class of its routes, which puts every refusal into the form that /v1 has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic_core import to_json
from starlette.responses import Response

from minicluster.database import DatabaseError
from minicluster.instance.errors import InstanceError, InstanceGone
from restful.compat.refusals import CompatRefusal, of_problem
from restful.errors import HttpProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

NO_STORE = {"Cache-Control": "no-store"}
_RETRY = {"Retry-After": "2"}
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "As asked.", "content": {"application/json": {"schema": {}}}},
    "default": {
        "description": "Refused: `Message` has the reason, and `Errors` one for each field that is wrong.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["Message"],
                    "properties": {
                        "Message": {"type": "string"},
                        "Errors": {"type": "array", "items": {"type": "string"}},
                    },
                }
            }
        },
    },
}


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of JSON; numbers that JSON has not are null."""
    return Response(to_json(value, inf_nan_mode="null"), status, headers, media_type="application/json")


def refused(refusal: CompatRefusal, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that is refused."""
    return json_answer(refusal.body(), refusal.status, headers)


def _of_error(error: Exception) -> Response:
    """Return the answer for what a route, or what it depends on, raised."""
    if isinstance(error, CompatRefusal):
        return refused(error)
    problem = _problem_of(error)
    return refused(of_problem(problem), problem.headers)


def _problem_of(error: Exception) -> HttpProblem:
    match error:
        case HttpProblem():
            return error
        case RequestValidationError():
            return HttpProblem("malformed")
        case InstanceGone():
            return HttpProblem("instance-away", headers=_RETRY)
        case InstanceError():
            return HttpProblem("instance-refused", str(error))
        case _:
            return HttpProblem("database-away", headers=_RETRY)


_KNOWN = (CompatRefusal, HttpProblem, RequestValidationError, InstanceError, DatabaseError)


class CompatRoute(APIRoute):
    """A route of /v1."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except _KNOWN as error:
                return _of_error(error)

        return guarded


class LateRefusals(Response):
    """Another response, which may raise HttpProblem before it begins to answer."""

    def __init__(self, inner: Response) -> None:
        super().__init__()
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the other response, or the refusal."""
        try:
            await self._inner(scope, receive, send)
        except HttpProblem as problem:
            await _of_error(problem)(scope, receive, send)
