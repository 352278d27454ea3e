"""Logins, tokens and keys at two replicas over one PostgreSQL: each sees what the other one does."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from restful import audit
from restful.identity.principal import Role
from restful.store.sessions import SESSIONS
from tests.restful.identity import service
from tests.restful.identity.service import Clock, Service, bearer, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

CHANGED = "another password!"


@contextlib.asynccontextmanager
async def two(path: Path, **settings: Any) -> AsyncIterator[tuple[Service, Service]]:
    """Give two replicas with one clock, each with connections of its own."""
    clock = Clock()
    async with service.database(path) as here, service.database(path) as there:
        yield service.replica(here, clock, 0, **settings), service.replica(there, clock, 1, **settings)


async def refreshed(replica: Service, token: str) -> Any:
    answer = await replica.token(grant_type="refresh_token", refresh_token=token)
    return answer.json().get("refresh_token") or answer.json()["error_description"]


async def status(replica: Service, token: str) -> int:
    found: int = (await replica.client.get("/v2/me", headers=bearer(token))).status_code
    return found


def test_two_tabs_that_race_get_the_same_token(tmp_path: Path) -> None:
    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            await here.add_user("alice")
            token, found = (await here.login("alice"))["refresh_token"], []
            for _ in range(10):
                both = await asyncio.gather(refreshed(here, token), refreshed(there, token))
                found.append(both[0] == both[1])
                token = both[0]
            return found, await refreshed(there, token)

    same, last = within(work())
    assert same == [True] * 10
    assert last.startswith("mcr_")


def test_a_token_that_is_used_again_later_ends_its_family_everywhere(tmp_path: Path) -> None:
    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            await here.add_user("alice")
            login = await here.login("alice")
            successor = await refreshed(there, login["refresh_token"])
            before = [await status(each, login["access_token"]) for each in (here, there)]
            here.clock.time += 11
            reused = await refreshed(there, login["refresh_token"])
            here.clock.time += 2
            after = [await status(each, login["access_token"]) for each in (here, there)]
            return before, reused, after, await refreshed(here, successor), await here.audit()

    before, reused, after, last, log = within(work())
    assert (before, after) == ([200, 200], [401, 401])
    assert reused == "the refresh token was used before, so all that followed it is revoked"
    assert last == "the refresh token is revoked"
    assert ("session.reuse", "denied") in log


def test_keys_rotate_without_a_failed_request(tmp_path: Path) -> None:
    """For six periods: each token is good at both replicas at once, and up to its end."""
    period, step, lifetime = 3000.0, 300.0, 600.0

    async def work() -> Any:
        async with two(tmp_path, signing_key_period=period, access_lifetime=lifetime) as replicas:
            await replicas[0].add_user("alice")
            found, kids, former = [], set(), ""
            for number in range(int(6 * period / step)):
                token = (await replicas[number % 2].login("alice"))["access_token"]
                found += [await status(each, token) for each in replicas]
                if former:
                    replicas[0].clock.time -= 1
                    found += [await status(each, former) for each in replicas]
                    replicas[0].clock.time += 1
                keys = (await replicas[1].client.get("/.well-known/jwks.json")).json()["keys"]
                kids |= {each["kid"] for each in keys}
                former = token
                replicas[0].clock.time += step
            return found, len(kids)

    found, kids = within(work())
    assert set(found) == {200}
    assert kids >= 6


def test_the_first_key_is_known_at_once_to_who_had_none(tmp_path: Path) -> None:
    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            await here.add_user("alice")
            keys = (await there.client.get("/v2/me", headers=bearer("a.b.c"))).status_code
            return keys, await status(there, (await here.login("alice"))["access_token"])

    assert within(work()) == (401, 200)


def test_a_login_after_another_password_is_good_at_once_everywhere(tmp_path: Path) -> None:
    """The other replica remembers the user as he was before."""

    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            alice = await here.add_user("alice")
            await here.ensure_admin("root")
            before = (await here.login("alice"))["access_token"]
            found = [await status(there, before)]
            await here.client.patch(
                f"/v2/users/{alice.id}", json={"password": CHANGED}, headers=await here.headers("root")
            )
            form = {"grant_type": "password", "username": "alice", "password": CHANGED}
            return [*found, await status(there, (await here.token(**form)).json()["access_token"])]

    assert within(work()) == [200, 200]


def test_the_audit_log_is_one_chain_whoever_writes(tmp_path: Path) -> None:
    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            await here.add_user("alice")
            for _ in range(4):
                await asyncio.gather(here.login("alice"), there.login("alice"))
            async with here.identities.database.read() as connection:
                rows = (await connection.execute(SESSIONS.select())).all()
                return await audit.first_broken(connection), len(rows)

    assert within(work()) == (None, 8)


@pytest.mark.parametrize("role", [Role.USER, Role.ADMIN])
def test_of_two_logins_of_one_name_made_at_once_one_is_refused(tmp_path: Path, role: Role) -> None:
    async def work() -> Any:
        async with two(tmp_path) as (here, there):
            await here.ensure_admin("root")
            headers, body = await here.headers("root"), {"name": "dora", "role": role}
            both = [each.client.post("/v2/users", json=body, headers=headers) for each in (here, there)]
            return sorted(each.status_code for each in await asyncio.gather(*both))

    assert within(work()) == [201, 409]
