"""API4:2023, unrestricted resource consumption: each limit refuses, and names itself."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful.limits.token_bucket import Rates
from restful.settings import RequestLimits
from restful.store import jobs
from restful.store.jobs import JobRecord
from tests.restful.authorization.requests import HOST, Answer, Sent
from tests.restful.authorization.routes import ROWS
from tests.restful.authorization.service import SETTINGS, SHARED, Everything, opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import asker_of, operations, page_keys, secured, sent_to, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

C = f"/v2/clusters/{SHARED}"
DEEP = json.loads("[" * 50 + "]" * 50)
SMALL = replace(SETTINGS, requests=RequestLimits(body_bytes=2000, body_seconds=0.05, burst=10**9))


def test_each_user_has_a_rate_on_every_route(tmp_path: Path) -> None:
    """On those about himself, on /v1, on the page and on live streams as well as on the others."""

    async def work() -> tuple[dict[Any, Any], int]:
        async with opened(tmp_path) as here:
            used_up = replace(here.services, rates=Rates(0.01, 0, 100))
            owner, wrong, asked = await shown(here, Asker.ADMIN), {}, 0
            for key in [*(each.key for each in secured(here)), *page_keys()]:
                sent = await sent_to(here, key, owner, user="admin")
                here.app.state.services = used_up
                answer = await here.ask(sent)
                here.app.state.services = here.services
                asked += 1
                limit = "he limit is 20 requests a second, and"
                words = f"T{limit}" if ROWS[key].kind.startswith("page") else f"t{limit}"
                if answer.status != 429 or words not in answer.text or not _waits(answer):
                    wrong[key] = (answer.status, answer.body[:100])
            return wrong, asked

    wrong, asked = within(work())
    assert wrong == {}
    assert asked > 60


def _waits(answer: Answer) -> bool:
    return int(answer.headers.get("retry-after", "0")) >= 1


def test_what_follows_live_asks_again_without_counting(tmp_path: Path) -> None:
    """Whether a reader may still read is asked every three seconds for each of twenty streams."""

    async def work() -> float:
        async with opened(tmp_path) as here:
            owner = await shown(here, Asker.OWNER)
            rates = Rates(0.01, 10, 100)
            here.app.state.services = replace(here.services, rates=rates)
            await here.ask(await sent_to(here, ("GET", "/v2/clusters/{cluster}/jobs/{id}/events"), owner))
            here.app.state.services = here.services
            return rates.take(here.users["alice"].id, here.clock()).remaining

    assert within(work()) == 8


def with_body(here: Everything) -> list[tuple[str, str]]:
    """Return the routes that read a body."""
    return [each.key for each in operations(here) if "requestBody" in each.content]


BODIES: dict[str, tuple[bytes, int, str]] = {
    "oversized": (b'{"a":"' + b"x" * 3000 + b'"}', 413, "/problems/too-large"),
    "nested": (b'{"a":' * 300 + b"1" + b"}" * 300, 0, ""),
    "no JSON": (b"{", 0, ""),
    "no UTF-8": (b'{"a":"\xff"}', 0, ""),
    "a lone surrogate": (b'{"name":"\\ud800"}', 0, ""),
    "a number without an end": (b"1" * 1900, 0, ""),
    "NaN": (b'{"a":NaN}', 0, ""),
}


@pytest.mark.parametrize("name", BODIES)
def test_each_route_refuses_a_body_that_is_none(tmp_path: Path, name: str) -> None:
    data, status, kind = BODIES[name]

    async def work() -> dict[Any, Any]:
        async with opened(tmp_path, settings=SMALL) as here:
            wrong = {}
            for key in with_body(here):
                sent = await sent_to(here, key, await shown(here, asker_of(key)))
                headers = {**sent.headers, "content-type": "application/json"}
                answer = await here.ask(replace(sent, body=None, form=None, data=data, headers=headers))
                good = answer.status == status if status else 400 <= answer.status < 500
                # What /v1 does not know it ignores, as clients of flux-restful-api expect.
                good |= key == ("POST", "/v1/jobs/submit") and not status and answer.status < 500
                if not good or (kind and kind not in answer.text):
                    wrong[key] = (answer.status, answer.body[:200])
            return wrong

    assert within(work()) == {}


def test_a_route_misses_the_body_that_the_document_requires(tmp_path: Path) -> None:
    """And does without one that it does not require."""

    async def work() -> tuple[dict[Any, int], Counter[bool]]:
        async with opened(tmp_path) as here:
            wrong, tried = {}, Counter[bool]()
            for operation in operations(here):
                if "requestBody" not in operation.content or operation.key[1].startswith("/v1"):
                    continue
                required = operation.content["requestBody"].get("required", False)
                sent = await sent_to(here, operation.key, await shown(here, asker_of(operation.key)))
                answer = await here.ask(replace(sent, body=None, form=None, data=b""))
                tried[required] += 1
                if (answer.status in {400, 422}) != required:
                    wrong[operation.key] = answer.status
            return wrong, tried

    wrong, tried = within(work())
    assert (wrong, tried[False]) == ({}, 4)
    assert tried[True] > 10


def _scope(path: str, headers: Mapping[str, str], query: str = "") -> dict[str, Any]:
    fields = {"host": HOST, **{name.lower(): value for name, value in headers.items()}}
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "https", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": "", "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
        "client": ("192.0.2.1", 1), "server": (HOST, 443), "state": {},
    }  # fmt: skip


async def _answer(here: Everything, scope: dict[str, Any], receive: Callable[[], Any]) -> tuple[int, bytes]:
    found: list[Any] = []

    async def send(message: Mapping[str, Any]) -> None:
        found.append(message)

    await here.app(scope, receive, send)
    return found[0]["status"], b"".join(each.get("body", b"") for each in found[1:])


@pytest.mark.parametrize("kind", ["endless", "slow"])
def test_a_body_without_an_end_is_refused(tmp_path: Path, kind: str) -> None:
    async def work() -> dict[str, tuple[int, bytes]]:
        async with opened(tmp_path, settings=SMALL) as here:
            token, found = (await shown(here, Asker.LOGIN)).bearer, {}
            for path in (f"{C}/jobs", "/v2/me/tokens", "/v1/jobs/submit"):

                async def receive() -> Mapping[str, Any]:
                    if kind == "slow":
                        await asyncio.Event().wait()
                    return {"type": "http.request", "body": b" " * 500, "more_body": True}

                headers = {**bearer(token), "content-type": "application/json"}
                found[path] = await _answer(here, _scope(path, headers), receive)
            return found

    status, words = (
        (413, b"more than the limit of 2000") if kind == "endless" else (408, b"the limit of 0.05")
    )
    for path, (found, body) in within(work()).items():
        assert (path, found) == (path, status)
        assert words in body


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        pytest.param({"headers": {"x-long": "x" * 17_000}}, 431, "the limit is 16384", id="a long field"),
        pytest.param({"headers": {f"x-{each}": "x" for each in range(2000)}}, 431, "16384", id="many fields"),
        pytest.param({"query": {"a": "x" * 17_000}}, 431, "the limit is 16384", id="a long address"),
        pytest.param({"query": {"limit": "501"}}, 422, "limit is 1 to 500, not 501", id="a page too large"),
        pytest.param({"query": {"limit": "0"}}, 422, "limit is 1 to 500, not 0", id="no page"),
        pytest.param({"query": {"limit": "9" * 400}}, 422, "limit", id="a number without an end"),
        pytest.param({"query": {"name": "x" * 256}}, 422, "name", id="a long name"),
        pytest.param({"query": {"cursor": "x" * 201}}, 422, "cursor", id="a long cursor"),
    ],
)
def test_what_is_asked_for_has_limits(tmp_path: Path, sent: dict[str, Any], status: int, words: str) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = (await shown(here, Asker.OWNER)).bearer
            headers = {**bearer(token), **sent.get("headers", {})}
            return await here.ask(Sent("GET", f"{C}/jobs", headers, query=sent.get("query", {})))

    answer = within(work())
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert words in answer.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"command": ["x" * 140_000]}, "/command"),
        ({"command": ["true"], "environment": {f"N{each}": "" for each in range(1001)}}, "the limit is 1000"),
        ({"command": ["true"], "environment": {"A": "x" * 70_000}}, "the limit is 65536"),
        ({"command": ["true"], "input": "x" * 600_000}, "the limit is 524288"),
        ({"script": "#!" + "x" * 600_000}, "the limit is 524288"),
        ({"command": ["true"], "tasks": 10**7}, "/tasks"),
        ({"command": ["true"], "dependencies": ["afterok:f1"] * 101}, "/dependencies"),
        ({"jobspec": {"a": DEEP}}, "40 levels"),
    ],
)  # fmt: skip
def test_a_job_has_limits(tmp_path: Path, body: dict[str, Any], words: str) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            token = (await shown(here, Asker.OWNER)).bearer
            return await here.ask(Sent("POST", f"{C}/jobs", bearer(token), body=body))

    answer = within(work())
    assert answer.status == 422
    assert words in answer.text


def test_v1_lists_no_more_than_a_thousand_jobs(tmp_path: Path) -> None:
    async def work() -> int:
        async with opened(tmp_path) as here:
            cluster = here.services.clusters.get(SHARED)
            assert cluster is not None
            alice = here.users["alice"].id
            records = [
                JobRecord(cluster.id, cluster.row.instance, each, alice, "r", t_submit=1.0)
                for each in range(1, 1200)
            ]
            async with here.services.database.write() as connection:
                await jobs.put(connection, records)
            token = (await shown(here, Asker.OWNER)).bearer
            query = {"details": "true", "listing": "true", "limit": "1000000000"}
            return len((await here.ask(Sent("GET", "/v1/jobs", bearer(token), query=query))).json())

    assert within(work()) == 1000
