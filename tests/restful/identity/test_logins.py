"""Waiting after wrong passwords: by name and by address, and never for whoever is known here."""

from pathlib import Path
from typing import Any

import pytest

from restful.errors import HttpProblem
from restful.identity import logins
from restful.identity.addresses import counted_as
from restful.store import users
from tests.restful.identity import service
from tests.restful.identity.service import PASSWORD, Service, caller, within

FAR = "198.51.100.7"


async def tried(here: Service, name: str, password: str, address: str) -> str:
    """Return what came of an attempt: the name, "refused", or the seconds to wait."""
    try:
        found = await logins.authenticate(here.identities, name, password, caller(address))
    except HttpProblem as problem:
        return f"{problem.type} {problem.headers['Retry-After']}"
    return "refused" if found is None else found.name


def test_the_wait_doubles(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            found = []
            for gap in (0, 0, 1, 0, 2, 0, 4):
                here.clock.time += gap
                found.append(await tried(here, "alice", "wrong", FAR))
            return found

    assert within(work()) == [
        "refused",
        "too-many-requests 1",
        "refused",
        "too-many-requests 2",
        "refused",
        "too-many-requests 4",
        "refused",
    ]


def test_a_right_password_has_to_wait_as_well(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await tried(here, "alice", "wrong", FAR)
            return [await tried(here, "alice", PASSWORD, FAR)]

    assert within(work()) == ["too-many-requests 1"]


@pytest.mark.parametrize("name", ["alice", "nobody", "carol"])
def test_nobody_can_see_which_names_there_are(tmp_path: Path, name: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await here.add_user("carol", password=None)
            form = {"grant_type": "password", "username": name, "password": "wrong"}
            answers = [await here.token(**form) for _ in range(2)]
            return [(each.status_code, each.json()) for each in answers]

    refused, waits = within(work())
    assert refused == (400, {"error": "invalid_grant", "error_description": logins.REFUSED})
    assert waits[0] == 429
    assert waits[1]["detail"] == "Too many logins failed; the next is accepted in 1 s."


def test_guesses_from_afar_do_not_lock_out_whom_one_knows(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await here.login("alice")
            for _ in range(6):
                await tried(here, "alice", "wrong", FAR)
                here.clock.time += 40
            here.clock.time -= 40
            return [await tried(here, "alice", PASSWORD, each) for each in (FAR, service.ADDRESS)]

    assert within(work()) == ["too-many-requests 32", "alice"]


def test_guesses_at_a_known_address_wait_apart(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await here.login("alice")
            found = [await tried(here, "alice", "wrong", service.ADDRESS) for _ in range(2)]
            return [*found, await tried(here, "alice", PASSWORD, FAR)]

    assert within(work()) == ["refused", "too-many-requests 1", "alice"]


def test_an_address_waits_whichever_names_it_tries(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            return [await tried(here, name, "wrong", FAR) for name in ("alice", "bob", "carol")]

    assert within(work()) == ["refused", "too-many-requests 1", "too-many-requests 1"]


def test_an_account_of_ones_own_does_not_clear_ones_guesses(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("mallory")
            found = []
            for gap in (0, 1, 2):
                here.clock.time += gap
                found.append(await tried(here, "alice", "wrong", FAR))
            here.clock.time += 4
            found.append(await tried(here, "mallory", PASSWORD, FAR))
            here.clock.time += 4
            return [*found, await tried(here, "bob", "wrong", FAR), await tried(here, "carol", "wrong", FAR)]

    assert within(work())[3:] == ["mallory", "refused", "too-many-requests 8"]


def test_a_password_is_hashed_anew_when_it_is_cheaper_than_today(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            dearer = service.replica(here.identities.database, here.clock, number=1, argon2_passes=2)
            found = [await tried(dearer, "alice", PASSWORD, FAR) for _ in range(2)]
            async with here.identities.database.read() as connection:
                stored = await users.by_id(connection, alice.id)
            assert stored is not None
            return found, (stored.password or "").split("$")[3]

    assert within(work()) == (["alice", "alice"], "m=8,t=2,p=1")


def test_who_logs_in_is_recorded_and_what_nobody_is_called_is_not(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await tried(here, "alice", PASSWORD, FAR)
            await tried(here, PASSWORD, "x", FAR)
            return await here.audit(), here.identities

    log, _ = within(work())
    assert log == [("login", "ok"), ("login", "denied")]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("192.0.2.1", "192.0.2.1", id="IPv4"),
        pytest.param("::ffff:192.0.2.1", "192.0.2.1", id="IPv4 as IPv6"),
        pytest.param("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", id="IPv6 by its network"),
        pytest.param("fe80::1%eth0", "fe80::/64", id="with a zone"),
        pytest.param("", "", id="none"),
        pytest.param("testclient", "testclient", id="a name"),
    ],
)
def test_what_an_address_is_counted_as(address: str, expected: str) -> None:
    assert counted_as(address) == expected


def test_who_is_refused_as_too_many_log_in_has_made_no_attempt(tmp_path: Path) -> None:
    """Whoever comes again until there is room must not be shut out for that."""

    async def work() -> Any:
        async with service.opened(tmp_path, argon2_waiting=0, login_burst=1) as here:
            await here.add_user("alice")
            async with here.identities.passwords.slot(), here.identities.passwords.slot():
                busy = {await tried(here, "alice", PASSWORD, FAR) for _ in range(5)}
            return busy, [await tried(here, "alice", PASSWORD, FAR) for _ in range(2)]

    assert within(work()) == ({"busy 5"}, ["alice", "too-many-requests 6"])
