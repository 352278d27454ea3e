"""Refused logins in the audit log: each says who was tried, from where and how; a flood is few entries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful import audit
from restful.errors import HttpProblem
from restful.identity import logins, web_sessions
from restful.identity.refused_logins import MAX_KINDS, RefusedLogin
from restful.identity.token_format import TokenKind, write
from restful.store import audit as rows
from restful.store.audit import AuditFilter
from tests.restful.identity import service
from tests.restful.identity.service import ADDRESS, Service, bearer, caller, within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from restful.store.audit import AuditRecord

SENT = "what somebody has typed"


async def denied(here: Service) -> list[AuditRecord]:
    """Return the entries about refused logins, the oldest first."""
    async with here.identities.database.read() as connection:
        assert await audit.first_broken(connection) is None
        found = await rows.page(connection, AuditFilter(action="login", limit=500))
    return [each for each in reversed(found) if each.outcome == "denied"]


async def _wrong_password(here: Service) -> None:
    assert await logins.authenticate(here.identities, "alice", SENT, caller()) is None


async def _unknown_name(here: Service) -> None:
    assert await logins.authenticate(here.identities, SENT, SENT, caller()) is None


async def _disabled(here: Service) -> None:
    root = await here.ensure_admin("root")
    headers = await here.headers(root.name)
    alice = (await here.client.get("/v2/users", headers=headers)).json()[0]["id"]
    await here.client.patch(f"/v2/users/{alice}", json={"state": "locked"}, headers=headers)
    assert await logins.authenticate(here.identities, "alice", service.PASSWORD, caller()) is None


async def _link(here: Service) -> None:
    link = here.identities.new_token(TokenKind.LINK)
    assert await web_sessions.redeem(here.identities, link, caller()) is None


async def _secret(here: Service) -> None:
    answer = await here.token(
        grant_type="client_credentials", client_id="work", client_secret=write(TokenKind.CLIENT, b"x" * 32)
    )
    assert answer.status_code == 401


async def _token(here: Service) -> None:
    answer = await here.client.get("/v2/me", headers=bearer(write(TokenKind.PERSONAL, b"x" * 32)))
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("refuse", "who", "detail"),
    [
        pytest.param(_wrong_password, "alice", 'by="password" reason="password"', id="a wrong password"),
        pytest.param(_unknown_name, "", 'by="password" reason="password" name="#', id="an unknown name"),
        pytest.param(_disabled, "alice", 'by="password" reason="state locked"', id="a locked user"),
        pytest.param(_link, "", 'by="link" reason="used, expired or unknown"', id="a link"),
        pytest.param(_secret, "", 'by="secret" reason="unknown, or its secret wrong', id="a client"),
        pytest.param(_token, "", 'by="token" reason="the token is unknown', id="a token"),
    ],
)
def test_who_was_tried_from_where_and_how(
    tmp_path: Path, refuse: Callable[[Service], Awaitable[None]], who: str, detail: str
) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            await refuse(here)
            return await denied(here), alice.id

    found, alice = within(work())
    assert [(each.address, each.actor) for each in found] == [(ADDRESS, alice if who else "")]
    assert found[0].object == f"user:{alice if who else 'unknown'}"
    assert found[0].detail.startswith(detail)
    assert SENT not in repr(found)


def test_a_guesser_who_has_to_wait_is_in_it(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            alice = await here.add_user("alice")
            await _wrong_password(here)
            here.clock.time += 0.5
            with pytest.raises(HttpProblem):
                await _wrong_password(here)
            here.clock.time += 60
            await here.identities.refusals.flush()
            return [each.detail for each in await denied(here)], alice.id

    found, alice = within(work())
    assert found == [
        'by="password" reason="password"',
        f'by="password" reason="several" more=1 within="2027-01-15T08:00Z" users="{alice}"',
    ]


def test_a_flood_from_one_address_is_two_entries_a_minute(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            refusals, refused = here.identities.refusals, RefusedLogin("password", "password", ADDRESS)
            for minute in range(3):
                for _ in range(1000):
                    await refusals.note(refused)
                here.clock.time += 60
                assert len(await denied(here)) == 2 * minute + 1
            await refusals.flush()
            await refusals.flush()
            return [each.detail.partition("more=")[2].partition(" ")[0] for each in await denied(here)]

    assert within(work()) == ["", "999", "", "999", "", "999"]


def test_a_flood_from_many_addresses_is_few_entries(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            refusals = here.identities.refusals
            for number in range(1000):
                address = f"198.51.{number // 250}.{number % 250}"
                await refusals.note(RefusedLogin("password", "password", address))
            here.clock.time += 60
            await refusals.flush()
            return await denied(here)

    found = within(work())
    assert len(found) == MAX_KINDS + 1
    assert found[-1].detail == (
        f'by="any" reason="many at once" more={1000 - MAX_KINDS} within="2027-01-15T08:00Z"'
    )


def test_one_network_of_ipv6_is_one_address(tmp_path: Path) -> None:
    async def work() -> int:
        async with service.opened(tmp_path) as here:
            refused = RefusedLogin("password", "password", "")
            for number in range(50):
                await here.identities.refusals.note(replace(refused, address=f"2001:db8::{number:x}"))
            return len(await denied(here))

    assert within(work()) == 1


def test_the_log_that_is_read_has_what_was_counted(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            for _ in range(2):
                await here.identities.refusals.note(RefusedLogin("password", "password", "198.51.100.7"))
            here.clock.time += 60
            await here.ensure_admin("root")
            answer = await here.client.get("/v2/audit", headers=await here.headers("root"))
            return [each["detail"] for each in answer.json()["entries"]]

    assert within(work())[0] == 'by="password" reason="several" more=1 within="2027-01-15T08:00Z"'


@pytest.mark.parametrize("name", ["alice", "nobody"])
def test_as_much_is_written_for_a_name_that_nobody_has(tmp_path: Path, name: str) -> None:
    """Else the time of an answer would show which names there are."""

    async def work() -> int:
        async with service.opened(tmp_path) as here:
            await here.add_user("alice")
            await _unknown_name(here)
            here.clock.time += 2
            await logins.authenticate(here.identities, name, SENT, caller())
            return len(await denied(here))

    assert within(work()) == 1
