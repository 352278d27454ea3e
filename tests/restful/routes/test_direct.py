"""Which endpoints are called directly, and that they are called with the same as by FastAPI."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import httpx2
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Response, Security
from fastapi.security.base import SecurityBase
from starlette.requests import Request

from restful.routes import clusters, jobs, nodes, queues
from restful.routes.access import BEARER
from restful.routes.direct import DirectRoute, direct

USUAL = [("POST", "/v2/clusters/{cluster}/jobs"), ("POST", "/v2/clusters/{cluster}/jobs:submit")]
"""They have a header as a parameter."""


async def who(request: Request, _: Annotated[None, Security(BEARER)]) -> str:
    """Return who asks."""
    return request.headers.get("who", "nobody")


async def twice(found: Annotated[str, Depends(who)]) -> str:
    """Return what depends on a dependency."""
    return found * 2


def not_awaited() -> str:
    """Return what FastAPI has another thread return."""
    return "thread"


async def direct_endpoint(
    request: Request,
    first: str,
    second: Annotated[str, Path(description="a text")],
    found: Annotated[str, Depends(twice)],
) -> Response:
    """Answer what it was called with."""
    return Response(f"{request.method} {first} {second} {found}")


async def a_number(first: int) -> Response:
    """Take what a text has to be converted to."""
    return Response(repr(first))


async def a_short_text(first: Annotated[str, Path(max_length=3)]) -> Response:
    """Take what a text has to be checked for."""
    return Response(first)


async def another_name(other: Annotated[str, Path(alias="first")]) -> Response:
    """Take a text by a name that the path does not have."""
    return Response(other)


async def a_query(first: str, query: str = "") -> Response:
    """Take a parameter of the query."""
    return Response(first + query)


async def a_header(first: str, who: Annotated[str, Header()] = "") -> Response:
    """Take a header."""
    return Response(first + who)


async def a_body(first: str, body: dict[str, Any]) -> Response:
    """Take a body."""
    return Response(first + repr(body))


async def an_answer(first: str, response: Response) -> Response:
    """Take FastAPI's own answer."""
    return Response(first, response.status_code or 200)


async def another_thread(first: str, found: Annotated[str, Depends(not_awaited)]) -> Response:
    """Take what no coroutine returns."""
    return Response(first + found)


def itself_in_another_thread(first: str) -> Response:
    """Be no coroutine."""
    return Response(first)


def app_with(endpoint: Any, path: str) -> tuple[FastAPI, Any]:
    """Return an application with one route, and the route."""
    router = APIRouter(route_class=DirectRoute)
    router.get(path)(endpoint)
    app = FastAPI()
    app.include_router(router)
    return app, router.routes[0]


def ask(app: FastAPI, path: str) -> tuple[int, str]:
    """Return the answer to a request."""

    async def work() -> tuple[int, str]:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
            answer = await client.get(path, headers={"who": "me"})
            return answer.status_code, answer.text

    return asyncio.run(work())


def is_direct(route: Any) -> bool:
    """Return whether an endpoint is called directly."""
    return route.body_field is None and direct(route.dependant) is not None


def test_an_endpoint_is_called_with_the_request_texts_and_what_it_depends_on() -> None:
    app, route = app_with(direct_endpoint, "/{first}/and/{second}")
    assert is_direct(route)
    assert ask(app, "/one/and/t%20o") == (200, "GET one t o meme")


@pytest.mark.parametrize(
    ("endpoint", "answer"),
    [
        (a_number, (200, "7")), (a_short_text, (200, "7")), (a_query, (200, "7x")), (a_header, (200, "7me")),
        (a_body, (422, None)), (an_answer, (200, "7")), (another_thread, (200, "7thread")),
        (itself_in_another_thread, (200, "7")), (another_name, (200, "7")),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)  # fmt: skip
def test_an_endpoint_with_anything_else_is_called_as_usual(
    endpoint: Any, answer: tuple[int, str | None]
) -> None:
    app, route = app_with(endpoint, "/{first}")
    assert not is_direct(route)
    status, text = ask(app, "/7?query=x")
    assert (status, text if answer[1] is not None else None) == answer


def test_what_fastapi_refuses_it_refuses_still() -> None:
    app, _ = app_with(a_short_text, "/{first}")
    assert ask(app, "/four")[0] == 422


def test_a_dependency_can_be_replaced() -> None:
    app, _ = app_with(direct_endpoint, "/{first}/and/{second}")
    app.dependency_overrides[twice] = lambda: "replaced"
    assert ask(app, "/one/and/two") == (200, "GET one two replaced")


def test_what_describes_a_token_is_called_as_well() -> None:
    """One that reads the header itself would be."""

    class Refusing(SecurityBase):
        async def __call__(self, request: Request) -> None:
            raise LookupError(request.method)

    refusing = Refusing()
    refusing.model, refusing.scheme_name = BEARER.model, "refusing"

    async def endpoint(first: str, _: Annotated[None, Security(refusing)]) -> Response:
        return Response(first)

    endpoint.__annotations__ |= {"first": str, "_": Annotated[None, Security(refusing)]}
    Refusing.__call__.__annotations__["request"] = Request
    app, route = app_with(endpoint, "/{first}")
    assert is_direct(route)
    with pytest.raises(LookupError, match="GET"):
        ask(app, "/one")


def test_what_is_asked_for_most_is_called_directly() -> None:
    routes = [each for module in (clusters, jobs, nodes, queues) for each in module.router.routes]
    usual = [(min(each.methods), each.path) for each in routes if not is_direct(each)]  # type: ignore[attr-defined]
    assert usual == USUAL
