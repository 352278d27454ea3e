"""The class of the routes for clients: their endpoints are called without FastAPI's reading of parameters.

For each request FastAPI looks anew at what an endpoint depends on and of which types that is; that takes
longer than most of our endpoints do. They read queries and bodies themselves (restful.routes.answers), so
what is left is the request, texts of its path, and who asks. An endpoint with anything else is called as
usual, and so is one whose dependencies are not coroutines.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from fastapi.dependencies.models import Dependant
    from starlette.requests import Request
    from starlette.responses import Response

    RequestCall = Callable[[Request], Awaitable[Any]]


class DirectRoute(APIRoute):
    """A route. Its dependencies are its own and its router's; `include_router` adds none."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route."""
        usual = super().get_route_handler()
        call = None if self.body_field is not None else direct(self.dependant)
        if call is None:
            return usual

        async def handler(request: Request) -> Response:
            if request.app.dependency_overrides:
                return await usual(request)
            answered: Response = await call(request)
            return answered

        return handler


def direct(dependant: Dependant) -> RequestCall | None:
    """Return how to call an endpoint, or what one depends on; None: as FastAPI does."""
    texts = [field.name for field in dependant.path_params if _is_text(field)]
    nested = [(each.name, direct(each)) for each in dependant.dependencies]
    function = dependant.call
    if _has_more(dependant, len(texts)) or function is None or not _is_coroutine(function):
        return None
    known = [(name, call) for name, call in nested if call is not None]
    if len(known) < len(nested):
        return None
    name_of_request = dependant.request_param_name

    async def call(request: Request) -> Any:
        given: dict[str, Any] = {} if name_of_request is None else {name_of_request: request}
        for text in texts:
            given[text] = request.path_params[text]
        for name, each in known:
            found = await each(request)
            if name is not None:
                given[name] = found
        return await function(**given)

    return call


def _is_text(field: Any) -> bool:
    """Return whether each text of a path is good for a parameter, as it is and under the path's name."""
    info = field.field_info
    return info.annotation is str and not info.metadata and field.alias == field.name


def _has_more(dependant: Dependant, texts: int) -> bool:
    """Return whether anything is asked for besides the request, so many texts, and dependencies."""
    read = (
        dependant.query_params, dependant.header_params, dependant.cookie_params, dependant.body_params,
        dependant.websocket_param_name, dependant.http_connection_param_name,
        dependant.response_param_name, dependant.background_tasks_param_name,
        dependant.security_scopes_param_name,
    )  # fmt: skip
    return any(read) or texts < len(dependant.path_params)


def _is_coroutine(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
