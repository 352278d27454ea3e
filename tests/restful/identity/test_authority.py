"""What is remembered of users: never older than two seconds, in any replica."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from minicluster.database import DatabaseAway
from restful.identity.authority import Authority
from restful.identity.identities import Identities
from restful.identity.scopes import GrantRole
from restful.store import groups, users
from restful.store.groups import GrantRecord
from tests.restful.identity import service
from tests.restful.identity.service import Service, bearer, within


def other(here: Service) -> Service:
    """Return a second replica over the same database."""
    return service.replica(here.identities.database, here.clock, number=1)


async def status(replica: Service, token: str) -> int:
    found: int = (await replica.client.get("/v2/me", headers=bearer(token))).status_code
    return found


@pytest.mark.parametrize("how", ["revoked", "disabled", "another password", "logged out"])
def test_another_replica_sees_an_end_within_two_seconds(tmp_path: Path, how: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            there = other(here)
            alice = await here.add_user("alice")
            login = await here.login("alice")
            personal = (await here.personal("alice", "jobs:read"))["token"]
            token = personal if how in {"revoked", "disabled"} else login["access_token"]
            before = await status(there, token)
            root = await here.ensure_admin("root")
            if how == "revoked":
                await here.client.post("/v2/oauth/revoke", data={"token": personal})
            elif how == "logged out":
                await here.client.post("/v2/oauth/revoke", data={"token": login["refresh_token"]})
            else:
                change = {"state": "disabled"} if how == "disabled" else {"password": "x" * 12}
                path = f"/v2/users/{alice.id}"
                await here.client.patch(path, json=change, headers=await here.headers(root.name))
            here.clock.time += 2
            return before, await status(here, token), await status(there, token)

    assert within(work()) == (200, 401, 401)


def test_within_two_seconds_nothing_is_asked(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.login("alice"))["access_token"]
            before = await status(here, token)
            await here.identities.database.close()
            here.identities.authority.drop(("user", "nobody"))
            here.clock.time += 1.9
            return before, await status(here, token)

    assert within(work()) == (200, 200)


def test_without_the_database_nobody_is_believed_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            token = (await here.login("alice"))["access_token"]
            await status(here, token)

            def away() -> None:
                raise DatabaseAway("it is away")

            monkeypatch.setattr(type(here.identities.database), "read", lambda _: away())
            here.clock.time += 2
            with pytest.raises(DatabaseAway):
                await status(here, token)
            return True

    assert within(work())


def test_what_was_read_before_a_change_is_not_remembered_after_it(tmp_path: Path) -> None:
    """A reader that is slow must not bring back what has just been revoked."""

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            authority = here.identities.authority
            go_on = asyncio.Event()

            async def slow(_: object) -> str:
                await go_on.wait()
                return "old"

            async def fast(_: object) -> str:
                return "new"

            task = asyncio.create_task(authority.remember("key", slow))
            await asyncio.sleep(0)
            while not authority._checked:
                await asyncio.sleep(0)
            authority.forget()
            go_on.set()
            return await task, await authority.remember("key", fast)

    assert within(work()) == ("old", "new")


def test_a_clock_that_is_put_back_is_no_excuse(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            there = other(here)
            await here.add_user("alice")
            login = await here.login("alice")
            before = await status(there, login["access_token"])
            await here.client.post("/v2/oauth/revoke", data={"token": login["refresh_token"]})
            here.clock.time -= 3600
            return before, await status(there, login["access_token"])

    assert within(work()) == (200, 401)


def test_memory_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("restful.identity.authority.MAX_REMEMBERED", 10)

    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            authority = here.identities.authority

            async def load(_: object) -> str:
                return "x"

            for number in range(100):
                await authority.remember(number, load)
                authority.due(str(number), 60)
            return len(authority._remembered), len(authority._written)

    remembered, written = within(work())
    assert remembered <= 10
    assert written <= 10


def test_a_change_is_announced_to_who_watches(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            there = other(here)
            await here.add_user("alice")
            login = await here.login("alice")
            await status(there, login["access_token"])
            task = asyncio.create_task(there.identities.watch())
            await asyncio.sleep(0)
            await here.client.post("/v2/oauth/revoke", data={"token": login["refresh_token"]})
            while there.identities.authority._remembered:
                await asyncio.sleep(0)
            task.cancel()
            return await status(there, login["access_token"])

    assert within(work()) == 401


def test_grants_are_ones_own_ones_groups_and_everyones(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice, bob = await here.add_user("alice"), await here.add_user("bob")
            identities = here.identities
            await grant(identities, "a", GrantRole.USE, user=alice.id)
            await grant(identities, "a", GrantRole.OPERATE)
            await grant(identities, "b", GrantRole.USE, user=bob.id)
            return [dict(await identities.authority.grants(each.id)) for each in (alice, bob)]

    both = frozenset({GrantRole.USE, GrantRole.OPERATE})
    assert within(work()) == [
        {"a": both},
        {"a": frozenset({GrantRole.OPERATE}), "b": frozenset({GrantRole.USE})},
    ]


async def grant(identities: Identities, cluster: str, role: GrantRole, user: str | None = None) -> None:
    async with identities.change() as connection:
        record = GrantRecord(identities.new_id(), cluster, role, identities.now(), user)
        await groups.add_grant(connection, record)


def test_a_remembered_user_has_no_hash(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            async with here.identities.database.read() as connection:
                stored = await users.by_id(connection, alice.id)
            return stored, await here.identities.authority.user(alice.id)

    stored, remembered = within(work())
    assert (stored.password is None, remembered.password is None) == (False, True)


def test_an_interval_is_per_key() -> None:
    clock = service.Clock()
    authority = Authority(None, clock, 2)  # type: ignore[arg-type] # nothing is read
    found = [authority.due("a", 60), authority.due("b", 60), authority.due("a", 60)]
    clock.time += 60
    assert [*found, authority.due("a", 60)] == [True, True, False, True]
