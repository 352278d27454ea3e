"""PostgreSQL is killed amid requests: nothing is half done, the service says so, and goes on by itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.rpc_bulk import RpcBulk
from restful import audit
from restful.clusters.spec import ClusterSpec
from restful.jobs import submit
from restful.store import jobs, request_keys
from tests.restful.faults.replica import Replica, replica
from tests.restful.jobs.service import BASE, C, within
from tests.restful.postgresql.test_job_replicas import names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from httpx2 import Response

    from tests.conformance.laboratory import Laboratory
    from tests.database.postgresql import Server

Where = tuple[Any, str, bool]
"""What has the function, its name, and whether the server is killed behind it."""
STEPS: dict[str, Where] = {
    "before the row": (request_keys, "add", False),
    "within the row's transaction": (request_keys, "add", True),
    "before the submit": (RpcBulk, "resubmit", False),
    "after the submit": (RpcBulk, "resubmit", True),
    "within the transaction that notes it": (jobs, "submitted", True),
    "after the job is noted": (submit, "note", True),
}


def killing(server: Server, where: Where, patch: pytest.MonkeyPatch) -> None:
    """Have the server killed at a step, once."""
    room, name, behind = where
    real, left = getattr(room, name), [server]

    def kill() -> None:
        if left:
            left.pop().kill()

    def called(*arguments: Any, **named: Any) -> Any:
        if not behind:
            kill()
        found = real(*arguments, **named)
        if behind:
            kill()
        return found

    async def awaited(*arguments: Any, **named: Any) -> Any:
        if not behind:
            kill()
        found = await real(*arguments, **named)
        if behind:
            kill()
        return found

    patch.setattr(room, name, awaited if asyncio.iscoroutinefunction(real) else called)


async def submitted(here: Replica, token: str, number: int) -> Response:
    body = {"command": ["true"], "name": f"killed{number}"}
    headers = {"Idempotency-Key": f"killed{number}"}
    return await here.ask(token, "POST", f"{C}/jobs", json=body, headers=headers)


async def until_good(ask: Callable[[], Awaitable[Response]]) -> tuple[Response, set[int]]:
    """Ask until it is answered; return that answer, and the other statuses before."""
    refused: set[int] = set()
    async with asyncio.timeout(60):
        while True:
            answer = await ask()
            if answer.status_code < 300:
                return answer, refused
            assert answer.headers["Retry-After"]
            refused.add(answer.status_code)
            await asyncio.sleep(0.05)


def test_a_server_killed_between_any_two_steps_of_a_submit(
    url: str, postgresql: Server, embedded: Laboratory
) -> None:
    async def one(here: Replica, token: str, number: int, where: Where) -> tuple[Response, set[int]]:
        with pytest.MonkeyPatch.context() as patch:
            killing(postgresql, where, patch)
            answer = await submitted(here, token, number)
        postgresql.start()
        last, refused = await until_good(lambda: submitted(here, token, number))
        assert refused <= {409, 503}
        return answer, {answer.status_code, last.status_code}

    async def work() -> Any:
        async with replica(url, ClusterSpec("mc", embedded.connect, base=BASE)) as here:
            await asyncio.wait_for(here.cluster.caught_up.wait(), 60)
            await here.grant_everyone()
            await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read", "jobs:submit"))["token"]
            found = [await one(here, token, *each) for each in enumerate(STEPS.values())]
            page, _ = await until_good(lambda: here.ask(token, "GET", f"{C}/jobs?limit=100"))
            async with asyncio.timeout(60):
                while await _pending(here):
                    await asyncio.sleep(0.05)
            async with here.services.database.read() as connection:
                return found, page.json()["jobs"], await audit.first_broken(connection)

    found, listed, broken = within(work())
    refusals = [answer for answer, _ in found if answer.status_code != 201]
    assert {each.status_code for each in refusals} == {503}
    assert {each.json()["type"] for each in refusals} == {"/problems/database-away"}
    assert {each.headers["Retry-After"] for each in refusals} == {"2"}
    assert len(refusals) >= len(STEPS) - 1
    once = Counter(f"killed{number}" for number in range(len(STEPS)))
    assert names(embedded, "killed") == Counter(each["name"] for each in listed) == once
    assert broken is None


async def _pending(here: Replica) -> list[Any]:
    async with here.services.database.read() as connection:
        return list(await request_keys.pending(connection, here.cluster.id))


def test_while_the_server_is_away_requests_are_refused_and_then_served(url: str, postgresql: Server) -> None:
    async def work() -> Any:
        async with replica(url) as here:
            await here.add_user("alice")
            token = (await here.personal("alice", "jobs:read"))["token"]
            here.identities.authority.forget()
            postgresql.kill()
            away = [await here.ask(token, "GET", "/v2/me"), await here.client.get("/readyz")]
            alive = await here.client.get("/healthz")
            postgresql.start()
            back, _ = await until_good(lambda: here.ask(token, "GET", "/v2/me"))
            return away, alive.status_code, back.json()["name"]

    away, alive, name = within(work())
    assert [(each.status_code, each.json()["type"]) for each in away] == [
        (503, "/problems/database-away")
    ] * 2
    assert [each.headers["Retry-After"] for each in away] == ["2", "2"]
    assert (alive, name) == (200, "alice")
