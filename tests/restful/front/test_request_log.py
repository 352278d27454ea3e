"""Each request has a number and a line, and nothing of its path in it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from minicluster.kube_client import logs
from restful.app import create_app
from restful.front.request_log import AnsweredRequest, RequestLog, with_request
from tests.restful.jobs.service import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "canary"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged, as the service does."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    logs.setup("json", "info", stream)
    root.handlers[0].addFilter(with_request)
    yield stream
    root.handlers[:], _ = before
    root.setLevel(before[1])
    logging.captureWarnings(False)


def app_of(seen: list[AnsweredRequest]) -> FastAPI:
    """Return an application of a few routes."""
    app = FastAPI()

    @app.get("/things/{thing}")
    async def thing(thing: str) -> Response:
        logging.getLogger("restful.test").warning("about to answer")
        return Response(status_code=204)

    @app.get("/healthz")
    async def healthz() -> Response:
        return Response()

    app.add_middleware(RequestLog, observe=seen.append)
    return app


def asked(*paths: str, method: str = "GET") -> tuple[list[AnsweredRequest], list[httpx2.Response]]:
    """Return the requests as they are observed, and their answers."""
    seen: list[AnsweredRequest] = []
    transport = httpx2.ASGITransport(app_of(seen))

    async def work() -> list[httpx2.Response]:
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.request(method, path) for path in paths]

    return seen, asyncio.run(work())


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    """Return the lines of this service."""
    found = [json.loads(each) for each in log.getvalue().splitlines()]
    return [each for each in found if each["logger"].startswith("restful")]


def test_a_line_has_the_route_and_the_number_that_the_answer_has(log: io.StringIO) -> None:
    seen, answers = asked(f"/things/{CANARY}?token={CANARY}")
    within, request = lines(log)
    number = answers[0].headers["x-request-id"]
    assert (within["message"], within["request"]) == ("about to answer", number)
    assert request["message"] == "GET /things/{thing}"
    shown = {key: request[key] for key in ("method", "route", "status", "request", "level")}
    assert shown == {
        "method": "GET", "route": "/things/{thing}", "status": 204, "request": number, "level": "info",
    }  # fmt: skip
    assert (seen[0].route, seen[0].status) == ("/things/{thing}", 204)
    assert CANARY not in str(lines(log))


def test_each_has_another_number() -> None:
    _, answers = asked("/things/a", "/things/b")
    assert len({each.headers["x-request-id"] for each in answers}) == 2


def test_what_is_nowhere_is_one_route(log: io.StringIO) -> None:
    seen, _ = asked(f"/{CANARY}", method="BREW")
    assert (seen[0].method, seen[0].route, seen[0].status) == ("other", "other", 404)
    assert CANARY not in str(lines(log))


def test_probes_have_no_line(log: io.StringIO) -> None:
    seen, _ = asked("/healthz")
    assert (len(seen), lines(log)) == (1, [])


def test_a_failure_is_counted_and_answered(log: io.StringIO, tmp_path: Path) -> None:
    """By `Unhandled` of the application, which is within."""
    router = APIRouter()

    @router.get("/broken/{thing}")
    async def broken(thing: str) -> Response:
        raise RuntimeError("oh")

    async def work() -> tuple[list[AnsweredRequest], httpx2.Response]:
        async with opened(tmp_path) as here:
            seen: list[AnsweredRequest] = []
            app = RequestLog(create_app(here.services, (router,)), seen.append)
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
                return seen, await client.get(f"/broken/{CANARY}")

    seen, answer = asyncio.run(work())
    assert [(each.route, each.status) for each in seen] == [("/broken/{thing}", 500)]
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal")
    request = lines(log)[-1]
    number = answer.headers["x-request-id"]
    shown = {key: request[key] for key in ("route", "status", "request")}
    assert shown == {"route": "/broken/{thing}", "status": 500, "request": number}


def test_what_ends_without_an_answer_is_counted(log: io.StringIO) -> None:
    seen: list[AnsweredRequest] = []

    async def app(_scope: object, _receive: object, _send: object) -> None:
        raise ConnectionError("hung up")

    async def work() -> None:
        transport = httpx2.ASGITransport(RequestLog(app, seen.append))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.get("/")

    with pytest.raises(ConnectionError, match="hung up"):
        asyncio.run(work())
    assert [(each.route, each.status) for each in seen] == [("other", 0)]
    assert lines(log)[-1]["status"] == 0


def test_outside_of_requests_lines_have_no_number(log: io.StringIO) -> None:
    logging.getLogger("restful.test").warning("by itself")
    assert "request" not in lines(log)[0]
